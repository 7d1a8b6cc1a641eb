"""Korean names of the exercises and texts of their checks, by the English text; {} stands for a value."""

from collections.abc import Mapping
from functools import partial

from multihead.inspect.report import words

NAMES: Mapping[str, str] = {
    "pair counts": "쌍 세기",
    "merge": "쌍 잇기",
    "lookup": "곱셈으로 쓴 임베딩",
    "rnn step": "RNN의 한 걸음",
    "lstm step": "LSTM의 한 걸음",
    "clipping": "클리핑",
    "greedy": "끝까지 쓰기",
    "perplexity": "혼란도",
    "mean loss": "평균 손실",
    "additive energy": "배치의 에너지",
    "context": "문맥",
    "alignment": "정렬",
    "attention": "어텐션",
    "causal mask": "인과 마스크",
    "cosine attention": "코사인 어텐션",
    "split heads": "헤드로 자르기",
    "multi-head attention": "멀티 헤드 어텐션",
    "shared keys": "나누어 쓰는 키",
    "positions": "위치",
    "shift": "회전",
    "relative positions": "거리의 표",
    "encoder layer": "인코더 층",
    "parameters": "매개변수",
    "decoder input": "디코더의 입력",
    "label smoothing": "레이블 스무딩",
    "learning rate": "학습률",
    "n-grams": "n-그램",
    "beam step": "빔의 한 걸음",
    "length penalty": "길이 벌점",
    "temperature": "온도",
    "next-token loss": "언어 모델의 손실",
    "masking": "토큰 가리기",
    "filling a gap": "빈칸 채우기",
    "patches": "패치",
    "nearest code": "가장 가까운 코드",
    "matching": "짝짓기",
}
TEXTS: Mapping[str, str] = {
    "solved": "풀었다",
    "not yet; {}": "아직이다. {}",
    "the three dots are still there": "점 세 개가 그대로 있다",
    "nothing is returned": "돌려준 것이 없다",
    "it returns {}, not a tensor": "텐서가 아니라 {}을(를) 돌려준다",
    "{}: the shape is {}, not {}": "{0}: 모양이 {2}이어야 하는데 {1}이다",
    "{}: {} of {} entries differ": "{0}: 원소 {2}개 가운데 {1}개가 다르다",
    "{}: the result differs by up to {}": "{}: 결과가 최대 {}만큼 다르다",
    "{}: {}, not {}": "{0}: {2}이어야 하는데 {1}이다",
    "for {} it finds {}, not {}": "{0}: {2}이어야 하는데 {1}을(를) 찾는다",
    "{} with {} becomes {}, not {}": "{0}에서 {1}을(를) 이으면 {3}이어야 하는데 {2}이다",
    "{} with {} becomes {}: only whole pieces": "{}에서 {}을(를) 이으면 {}이다. 조각은 통째로만 이어라",
    "return two tensors: the new h and the new c": "텐서 두 개, 새 h와 새 c를 돌려주어라",
    "the new c": "새 c",
    "the new h": "새 h",
    "with limit {} it writes {}, not {}": "limit {0}: {2}이어야 하는데 {1}을(를) 쓴다",
    "probabilities 1/2, 1/4, 1/8": "확률 1/2, 1/4, 1/8",
    "a row's source position differs": "원문의 자리가 다른 행이 있다",
    "queries three times as long": "세 배 긴 쿼리",
    "x {}, {} heads": "x {}, 헤드 {}개",
    "2 key heads for {} heads": "헤드 {}개에 키 헤드 2개",
    "{} positions, {} dimensions": "위치 {}개, {}차원",
    "5 positions, clipped at 2": "위치 5개, 2에서 자름",
    "the decoder's input is not the target moved right behind the begin symbol": (
        "디코더의 입력이 시작 기호 뒤로 한 칸 민 목표가 아니다"
    ),
    "it keeps {}, not {}": "{1}이어야 하는데 {0}을(를) 남긴다",
    "log-probability {}, {} tokens, alpha {}": "로그 확률 {}, 토큰 {}개, alpha {}",
    "logits {}, ids with padding 0": "logits {}, 패딩이 0인 ids",
    "it changes the text that it is given; build a new one for every candidate": (
        "받은 글을 바꾼다. 후보마다 새로 만들어라"
    ),
    "it fills {}, not the candidate of the most probable text, {}": (
        "{0}을(를) 넣는다. 가장 그럴듯한 글이 되는 후보는 {1}이다"
    ),
    "an image {}, patches of 2 x 2": "그림 {}, 2 x 2 패치",
    "11 patches, 5 codes": "패치 11개, 코드 5개",
    "{} does not give every row a column of its own": "{}은(는) 행마다 다른 열을 주지 않는다",
    "costs {}: {} costs {}, and {} only {}": "비용 {}: {}의 비용은 {}인데 {}의 비용은 {}뿐이다",
}

say = partial(words.say, table=TEXTS)
"""Return a text of the checks in both languages."""
