"""Made-up corpora, to be decided on."""

from collections import Counter

from multihead.tasks.translation.suggest import CorpusProfile
from multihead.tasks.translation.suggest.profile import SideProfile


def sentences(pairs: int) -> CorpusProfile:
    """Return the profile of sentences of 9 words and 47 characters, as of two European languages."""

    def side(letters: str) -> SideProfile:
        types = Counter(
            {f"{letters[i % 23]}{i}": 1 + 9 * pairs // (i + 1) for i in range(3 * min(pairs, 997))}
        )
        return SideProfile(
            lines=pairs,
            words=9 * pairs + 9 * pairs // 20,
            types=types,
            characters=Counter(dict.fromkeys(letters, 2 * pairs)),
            lengths=Counter({47: pairs}),
        )

    abc = "abcdefghijklmnopqrstuvwxyz"
    return CorpusProfile(side(abc), side(abc[::-1]), (101, 101, 101), (3 * pairs, 3 * pairs, 3 * pairs))
