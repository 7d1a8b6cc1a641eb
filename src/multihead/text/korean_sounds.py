"""The last sound of a noun as Korean readers say it: Hangul, Latin letters, numbers with units, kana."""

import unicodedata

import regex

from multihead.text.loanwords import Final, of_hangul, of_latin, readings

_LONGEST = 200
"""Maximum number of final characters that are read."""

_UNITS = readings("""
m 미터, km 킬로, cm 미터, mm 미터, g 그램, kg 그램, mg 그램, t 톤, l 리터, L 리터, ml 리터, mL 리터,
s 초, ms 초, h 시간, hr 시간, min 분, Hz 헤르츠, kHz 헤르츠, MHz 헤르츠, GHz 헤르츠, B 바이트,
kB 바이트, KB 바이트, MB 바이트, GB 바이트, TB 바이트, W 와트, kW 와트, kWh 시, V 볼트, A 암페어,
mA 암페어, mAh 시, dB 벨, px 픽셀, pt 포인트, cal 칼로리, kcal 칼로리, J 줄, kJ 줄, N 뉴턴, Pa 파스칼,
hPa 파스칼, ha 헥타르, ft 피트, lb 파운드, oz 온스, mol 몰, mph 마일, USD 달러, EUR 유로, KRW 원,
JPY 엔, GBP 파운드
""")
"""Units, and the last word of their names."""
_SIGNS = readings("% 퍼센트, ‰ 퍼밀, ° 도, $ 달러, € 유로, £ 파운드, ¥ 엔, ₩ 원, + 플러스, # 샵")
_DIGITS = "영일이삼사오육칠팔구"
_ENGLISH_DIGITS = ("제로", "원", "투", "스리", "포", "파이브", "식스", "세븐", "에이트", "나인")
"""Names of a single digit after Latin letters: MP3, A4."""
_POWERS = ((16, "경"), (12, "조"), (8, "억"), (4, "만"), (3, "천"), (2, "백"), (1, "십"))

_IGNORED = regex.compile(r"[^\p{L}\p{N}%‰°$€£¥₩+#]++\Z")
_REMARK = regex.compile(r"(?<=\S)\s*+[(（\[][^()（）\[\]]*+[)）\]]\Z")
"""A remark in brackets: a particle agrees with the word before it."""
_NUMBER = regex.compile(
    r"(?P<sign>[$€£¥₩]?)\s?(?P<digits>\d[\d.,:/⁄–-]*+)(?:\s?(?P<unit>[A-Za-z]{1,4})(?:/[hs])?)?\Z"
)
_LATIN = regex.compile(r"[A-Za-zÀ-ɏ]++(?P<digit>\d?)\Z")
_DATE = regex.compile(r"\d{4}[./-]\d{1,2}[./-]\d{1,2}")
_FRACTION = regex.compile(r"(\d{1,2})[/⁄](\d{1,2})")


def final_sound(noun: str) -> Final | None:
    """Return the last sound of a noun, or None if it is unknown (Chinese characters, emoji)."""
    text = _core(noun)
    if not text:
        return None
    if text[-1] in _SIGNS:
        return of_hangul(_SIGNS[text[-1]][-1])
    latin = _LATIN.search(text)
    if latin and latin["digit"]:
        return of_hangul(_ENGLISH_DIGITS[int(latin["digit"])][-1])
    number = _NUMBER.search(text)
    if number and (not number["unit"] or number["unit"] in _UNITS):
        name = _UNITS.get(number["unit"] or "") or _SIGNS.get(number["sign"]) or _read(number["digits"])
        return of_hangul(name[-1])
    return of_latin(latin[0]) if latin else _of_letter(text[-1])


def _core(noun: str) -> str:
    """Return a noun in NFKC, without remarks and punctuation at its end."""
    numbers = {
        letter: str(int(unicodedata.numeric(letter)))
        for letter in noun
        if unicodedata.category(letter) == "Nl"
    }
    text = "".join(numbers.get(letter, letter) for letter in noun[-_LONGEST:])
    text = unicodedata.normalize("NFKC", text).rstrip()
    while text:
        shorter = _REMARK.sub("", text)
        if shorter == text:
            shorter = _IGNORED.sub("", text)
        if shorter == text:
            break
        text = shorter
    return text


def _read(digits: str) -> str:
    """Return the last word of a number as it is read aloud."""
    digits = digits.rstrip(".,:/⁄–-")
    if _DATE.fullmatch(digits):
        return "일"
    if ":" in digits:
        return "시" if digits.endswith(":00") else "분"
    if fraction := _FRACTION.fullmatch(digits):
        above, below = map(int, fraction.groups())
        if above < below <= 10:
            return _read(fraction[1])
    last = regex.split(r"[/⁄–:-]", digits)[-1].replace(",", "")
    before, point, after = last.rpartition(".")
    if point and "." not in before:
        return _DIGITS[int(after[-1])]
    whole = after.lstrip("0")
    if not whole:
        return "영"
    zeros = len(whole) - len(whole.rstrip("0"))
    return next((name for power, name in _POWERS if power <= zeros), "") or _DIGITS[int(whole[-1])]


def _of_letter(letter: str) -> Final | None:
    """Return the last sound of a Hangul syllable or of a single letter's name; None for other characters."""
    if "가" <= letter <= "힣":
        return of_hangul(letter)
    name = unicodedata.name(letter, "")
    script, _, rest = name.partition(" ")
    match script:
        case "HANGUL":  # a letter: 기역, 니은, 리을 or a vowel; NFKC makes it a conjoining one
            vowel = "JUNGSEONG" in rest or letter in "ㅏㅐㅑㅒㅓㅔㅕㅖㅗㅘㅙㅚㅛㅜㅝㅞㅟㅠㅡㅢㅣ"
            return Final.VOWEL if vowel else Final.RIEUL if rest.endswith("RIEUL") else Final.CONSONANT
        case "HIRAGANA" | "KATAKANA" | "KATAKANA-HIRAGANA":
            return Final.CONSONANT if letter in "んンっッ" else Final.VOWEL
        case "GREEK":
            return Final.CONSONANT if letter in "εουΕΟΥ" else Final.VOWEL
        case "CYRILLIC":
            finals = {"л": Final.RIEUL, "м": Final.CONSONANT, "н": Final.CONSONANT}
            return finals.get(letter.lower(), Final.VOWEL)
    return None
