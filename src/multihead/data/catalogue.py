"""Catalogue of corpora that recipes use: origin, licence and checksums."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from multihead.errors import UserError


@dataclass(frozen=True, slots=True)
class CorpusFile:
    """A file of a corpus, with its size in bytes and SHA-256."""

    name: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class CatalogueCorpus:
    """A corpus used by recipes.

    Attributes:
        name: its name for `multihead data get`.
        description: one sentence.
        origin: publisher and version.
        licence: as stated by the publisher.
        files: its files.
        url: base URL of the files; "" if there is no stable one.
        instructions: manual steps, if there is no URL.
        next_command: command that makes the files that recipes read, if they are not the corpus files.
        derived_files: the files that ``next_command`` makes.
    """

    name: str
    description: str
    origin: str
    licence: str
    files: tuple[CorpusFile, ...]
    url: str = ""
    instructions: str = ""
    next_command: str = ""
    derived_files: tuple[str, ...] = ()


def corpus_named(name: str) -> CatalogueCorpus:
    """Return a corpus by name.

    Raises:
        UserError: no corpus has this name.
    """
    if name not in CORPORA:
        raise UserError(f"no corpus {name!r}", remedy=f"Choose one of {', '.join(CORPORA)}.")
    return CORPORA[name]


def remedy_for_missing(path: Path) -> str:
    """Return the remedy for a missing corpus file: the command that gets it, if it is in the catalogue."""
    file = path.name

    def holds(corpus: CatalogueCorpus) -> bool:
        # A name like train.de or input.txt is too common on its own: the folder must match too.
        distinctive = file.endswith(".gz") or corpus.name in path.parts
        return distinctive and file in {*(f.name for f in corpus.files), *corpus.derived_files}

    corpus = next(filter(holds, CORPORA.values()), None)
    if corpus is None:
        return "Check its name, and the folder given by --data.dir."
    get = f"multihead data get {corpus.name}" + ("" if corpus.url else " --from FOLDER")
    remedy = f"Name the folder with --data.dir DIR; if you have no copy of {corpus.name}: {get}."
    return remedy + (f" Then: {corpus.next_command}" if file in corpus.derived_files else "")


def _files(table: str) -> tuple[CorpusFile, ...]:
    rows = (line.split() for line in table.strip().split("\n"))
    return tuple(CorpusFile(name, int(size), sha256) for sha256, size, name in rows)


_MULTI30K = """
200a4a74cc9560f051924abb9803be008d1908d77f747e9141aeb86dfd2797f1   22572 test_2016_flickr.cs.gz
9204244e408ccb38d2a55cfcd344df15005fc42a07a6e55ca6c52b6ababb8cc8   22890 test_2016_flickr.de.gz
611d361c6334bc7246101d48097c13cf5c4413c5befc793cc629934359d532d9   21077 test_2016_flickr.en.gz
6d326e188d259fb1d04ac19eae3af956559b3a0b93d7635e56c90987c40c8b90   22310 test_2016_flickr.fr.gz
a2c89666db00c495cd8513b9d708d5a3acc205d7de312ef2bf5fb7ebc1540aee   21471 test_2017_flickr.de.gz
76a444ee25172e72695cddb13ae4a3bda59430617be88e0bb46b60504f054074   19138 test_2017_flickr.en.gz
3ba671ceb2299f3304ffafefea7a833d08632fbaf0ba18546f8a2ec2391af496   20434 test_2017_flickr.fr.gz
799e4854c25d601cb6cb6be29eabe5667734c61ace2f495e03e429031a0bc338   10230 test_2017_mscoco.de.gz
aab300bfb4427697987e02cd0aacd44bfe8aa50456231b6474c08038bbed2b58    8844 test_2017_mscoco.en.gz
754f3072ba9f124569ba5258b32730fc1d214bbf8e0c6dfb2b74401676220db0    9751 test_2017_mscoco.fr.gz
a65adb8b32e3bc664f21ecba7a6e7f6950fd1f405e135f7c312faabdb6255077  593827 train.cs.gz
726e39b2fa9eb9ffb6dc763fb35a179f80fae06ffc5d28b6ace5faa883de28a6  637044 train.de.gz
d79cfa999dd4c51d2cb42499b6796d5a882c3a8a961923c25a898c90f8bbd56f  568929 train.en.gz
622e75069e9f4c577425c4f277116ce66e63a2401c0a2312d90073cb12379a3c  604242 train.fr.gz
b63226e05c4bd5dd6a42897d74b86a1b9d2c31498252c572b1ea7f7996927fcc   22096 val.cs.gz
f0cba2f995189cf5770f29a8a9a537a3ad3f51657ad873405082ff6863a5e75a   24681 val.de.gz
14f7d25ddd868909a9213e361768460edcacdd6ab9d1e77b92560dc10c10dc28   21650 val.en.gz
ca3106f1a72390591d25f6c45cb4cd39dec4cd3f123e099748a3ce5256c160e9   23001 val.fr.gz
"""

_TATOEBA = """
994bea56ac8f4a6c5046aad52bc0b9230fce3424d891f7edbd2e75af47ed76b0 3928010 deu-eng.tsv.gz
"""

_KO_EN = """
66ef202e1b9199bf02ffe3c643aabf3d1879aec9df0fefc2a812ae63d07bf6ee   31124 pydocs.dev.en.gz
182d2eb7f93c949d955a951765a5cf30a0990b60932d89d450592fddbd39d567   34659 pydocs.dev.ko.gz
97c30fec89801c1c92e42a9f0479d7cab842a9d43a101eb296de480e1adeef5e   11861 pydocs.test.en.gz
2be5cb49800e3efda4ee3e69156261b447ed2e82b6d1250437e41720fd8bd75e   13154 pydocs.test.ko.gz
4d6ce92b42a6dcad016f57ac09fdfd332621a857c6d5c62fbae881476c2d721f 1285602 pydocs.train.en.gz
d4d5939e7df098941b2842b5df80e4714f8973b25fc79218ac7773223473235c 1382123 pydocs.train.ko.gz
871653405d911ce4340f607c8e20bdbd639e786e77c6fbac5cf1b231069e4e77   15427 tldr.dev.en.gz
b20f834b38540ef9cece719f66ed716bb3efbdc654a830c728fd7264d5c40d32   16722 tldr.dev.ko.gz
7ff43c7380241c6c004f420574747158f60974c2ddebc7543be5f83ab2da4b6d   16058 tldr.test.en.gz
85498d71d0e1e4873797c796f5290a269b77365bd36d7e4216134dd680738dbd   17236 tldr.test.ko.gz
523b7f73a6100050efdf954b139d141cb9e3d77d9e5b4cadf1c379d43494235e  431829 tldr.train.en.gz
1efbb5bd8fe9af9595ff497197bbbb6af2071293cd69c9715d1ff0441bda3207  463006 tldr.train.ko.gz
"""

_FASHION_MNIST = """
346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073  4422102 t10k-images-idx3-ubyte.gz
67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5     5148 t10k-labels-idx1-ubyte.gz
3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84 26421880 train-images-idx3-ubyte.gz
a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845    29515 train-labels-idx1-ubyte.gz
"""

_NSMC = """
d3973d4c1f2471443857cff2ffedd89faeab3b99f9bb504755c46448eff41cb1 2110382 ratings_test.txt.gz
4a44a81d3b38800471042793db4fb0a90900d2f2ff432afce519b3651c9dec58 6312979 ratings_train.txt.gz
05d769e72a1dfc98d8883d4f788f6d9fee6b232e4513e1b89079ce9d9844ba8c 7579945 unlabelled_neutral.txt.gz
"""

_TINYSHAKESPEARE = """
86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed 1115394 input.txt
"""

CORPORA: Mapping[str, CatalogueCorpus] = {
    data.name: data
    for data in (
        CatalogueCorpus(
            name="multi30k",
            description="Image captions in English, German, French, Czech: 29,000 training sentences each.",
            origin="github.com/multi30k/dataset (task 1, raw text), commit a3d2e0d2",
            licence="not stated; the captions derive from Flickr30k, research use is customary",
            files=_files(_MULTI30K),
            url="https://raw.githubusercontent.com/multi30k/dataset"
            "/a3d2e0d26b56f3846f66a952536ffed4e401d05a/data/task1/raw/",
        ),
        CatalogueCorpus(
            name="tatoeba-de-en",
            description="166,618 short everyday sentences, English and German (TSV, of 2018-05-13).",
            origin="tatoeba.org, collected by manythings.org/anki (deu-eng.zip)",
            licence="CC BY 2.0 FR",
            files=_files(_TATOEBA),
            instructions="The publisher updates the file from time to time, so this version has no URL. "
            "Download the current deu-eng.zip from manythings.org/anki, compress the table in it to "
            "deu-eng.tsv.gz, and split it with the command below; scores will differ slightly.",
            next_command="multihead split --src data/tatoeba-de-en/deu-eng.tsv.gz --source-field 2 "
            "--target-field 1 --source-language de --target-language en --to data/tatoeba-de-en",
            derived_files=tuple(
                f"{part}.{side}" for part in ("train", "valid", "test") for side in ("de", "en")
            ),
        ),
        CatalogueCorpus(
            name="ko-en",
            description="Korean and English technical text: Python's documentation and the tldr pages.",
            origin="github.com/python/python-docs-ko (d0c58403) and github.com/tldr-pages/tldr (08e345f4)",
            licence="pydocs: PSF-2.0; tldr: CC BY 4.0",
            files=_files(_KO_EN),
            instructions="Extract line-aligned text from both repositories: the message pairs of the PO "
            "files, and the description lines of pages that exist in both languages. Save each split as "
            "pydocs.train.ko.gz, pydocs.train.en.gz and so on, and name the folder with --data.dir.",
        ),
        CatalogueCorpus(
            name="fashion-mnist",
            description="70,000 greyscale images of clothes, 28 x 28, in ten classes; 10,000 for testing.",
            origin="github.com/zalandoresearch/fashion-mnist, commit b2617bb6 (Xiao et al. 2017)",
            licence="MIT",
            files=_files(_FASHION_MNIST),
            url="https://raw.githubusercontent.com/zalandoresearch/fashion-mnist"
            "/b2617bb6d3ffa2e429640350f613e3291e10b141/data/fashion/",
        ),
        CatalogueCorpus(
            name="nsmc",
            description="200,000 Korean film reviews with their sentiment, and 207,353 neutral ones without.",
            origin="github.com/e9t/nsmc, commit cc0670e8",
            licence="CC0 1.0",
            files=_files(_NSMC),
            instructions="Compress ratings_train.txt and ratings_test.txt of the repository with gzip. The "
            "neutral reviews are those of raw/*.json rated 5 to 8, each once, one a line: "
            "unlabelled_neutral.txt.gz. Name the folder with --data.dir.",
        ),
        CatalogueCorpus(
            name="tinyshakespeare",
            description="1.1 million characters of Shakespeare's plays.",
            origin="github.com/karpathy/char-rnn, commit 6f9487a6",
            licence="MIT (the repository); the text is in the public domain",
            files=_files(_TINYSHAKESPEARE),
            url="https://raw.githubusercontent.com/karpathy/char-rnn"
            "/6f9487a6fe5b420b7ca9afb0d7c078e37c1d1b4e/data/tinyshakespeare/",
        ),
    )
}
