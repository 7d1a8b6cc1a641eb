// The words of the page, in English and Korean.

const TEXTS = {
  en: {
    loading: "The model is being unpacked …",
    offline: "works offline",
    offlineHint: "Everything is in this file: nothing that is typed leaves this computer.",
    source: "Source",
    target: "Translation",
    placeholder: "Type or paste a text",
    empty: "The translation appears here while you type.",
    clear: "Clear",
    copy: "Copy",
    copied: "Copied",
    theme: "Dark or light",
    language: "한국어",
    search: "Search",
    quick: "quick",
    careful: "careful",
    quickHint: "Greedy search: the most probable token at every step",
    carefulHint: (k) => `Beam search with ${k} hypotheses`,
    try: "Try",
    words: (n) => `${n} ${n === 1 ? "word" : "words"}`,
    letters: (n) => `${n.toLocaleString("en")} characters`,
    took: (ms) => `${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms`,
    progress: (i, n) => `sentence ${i} of ${n}`,
    cut: (n) => `${n === 1 ? "A sentence was" : `${n} sentences were`} too long for the model and cut into parts.`,
    why: "Alternatives",
    whyLead: "Choose a word of the translation. The bars are the probabilities of what could have stood in its place; choose one, and the model goes on from there.",
    instead: (word) => `In place of “${word}”`,
    after: (text) => (text ? `after “${text}”` : "at the start"),
    piece: "Piece",
    others: "Other translations that the search kept",
    undo: "Back to the model’s own translation",
    changed: "Continued from your choice",
    doubtful: (share) => `The model gave a piece of this word a probability of ${share} %.`,
    attention: "Attention",
    attentionLead: "Every head of every layer, for the sentence at the cursor, computed as you type. A stronger colour is more weight.",
    cross: "Translation → source",
    encoder: "Source",
    own: "Translation",
    crossHint: "Each written token attends to the source.",
    encoderHint: "Each token of the source attends to the whole source.",
    ownHint: "Each position attends to what has been written before it.",
    recurrent: "The decoder has simple recurrent units in the place of self-attention, so it has no such weights.",
    layer: (n) => `layer ${n}`,
    head: (n) => `head ${n}`,
    all: "all heads",
    mean: "mean of all heads",
    mapTitle: (layer, head) => (head ? `Layer ${layer}, head ${head}` : `Layer ${layer}, mean of all heads`),
    rows: "Rows: attending. Columns: attended to.",
    toTarget: (target, source, weight) => `${target} → ${source}: ${weight}`,
    longest: (n) => `The sentence has more than ${n} tokens; the first ${n} are drawn.`,
    rounded: "Weights are stored in eight bits, so attention may differ by a few hundredths from the model in 32 bits.",
    exact: "Weights are stored in 32 bits, as trained.",
    caution: "Attention shows where the model looked, not why it chose a word.",
    checked: (same, of) =>
      same === of
        ? `This page has checked itself: it writes the words that were recorded at its export for ${same} of ${of} sentences.`
        : `This page does not compute what it should: it writes other words than at its export for ${of - same} of ${of} sentences.`,
    facts: (million, layers, heads, bits) =>
      `${million} million parameters · ${layers} layers · ${heads} heads · ${bits}`,
    altered: (block) =>
      `This page was altered or cut short: the checksum of its ${block} is wrong. Nothing is translated. Export the page again, or copy it again as a whole.`,
    blocks: { engine: "engine", weights: "weights", vocabularies: "vocabularies", facts: "settings", worker: "script" },
    unsupported:
      "This browser cannot run the page: it needs WebAssembly with SIMD and DecompressionStream (Chrome or Edge 91, Firefox 113, Safari 16.4, or later).",
    damaged: "The model in this page cannot be read. Export the page again.",
    notFinite: "The model’s scores are not finite for this text.",
    beginning: "Beginning",
    beginningHint: "Type how the text begins",
    written: "The model writes",
    stop: "Stop",
    again: "Write again",
    temperature: "Temperature",
    tokens: (n) => `${n} tokens`,
    leftOut: (n) => `${n} characters that the vocabulary lacks were left out`,
    tokenLead: "Choose a token that the model wrote.",
    textLead: "Every head of every layer over the last tokens. Choose a token: what it attends to is shaded in the text.",
    masked: "Text",
    maskedHint: (mask) => `Type a text; ${mask} stands for a missing token`,
    filled: "Filled",
    filledLead: (mask) => `Choose a token to hide it, or write ${mask}. The model fills what is hidden from both sides.`,
    maskedLead: "Every head of every layer. Choose a token: what it attends to is shaded in the text.",
    show: "Show the token again",
    was: (text) => `the text says “${text}”`,
    tooLong: (n) => `${n} tokens beyond the model’s limit were left out`,
    drop: "Drop an image here",
    choose: "Choose an image",
    dropHint: "or paste one. It stays on this computer.",
    classes: "Classes",
    classesLead: "The probabilities of the classes appear here.",
    notImage: "This file is not an image that the browser can read.",
    scaled: (n) => `scaled and cropped to ${n} × ${n} pixels, as in training`,
    imageLead: "Every head of every layer: where the chosen token looks. Choose a patch, or move with the arrow keys; Escape goes back to the class token.",
    patchLead: "Every head of every layer: where the chosen patch looks. Choose a patch, or move with the arrow keys.",
    classToken: "class token",
    patchName: (row, column) => `patch in row ${row}, column ${column}`,
    looks: (name) => `Where the ${name} looks`,
    brightest: (most) => `The brightest patch has the largest weight, ${most}.`,
    imageName: "The image as the model reads it",
    repeated: (same, of) =>
      same === of
        ? `The page checked itself: it repeats what was recorded at the export (${of} of ${of}).`
        : `This page does not compute correctly: it repeats ${same} of ${of} results that were recorded at the export.`,
    failed: (detail) => `The page’s worker failed: ${detail}`,
  },
  ko: {
    loading: "모델을 푸는 중입니다 …",
    offline: "오프라인에서 작동",
    offlineHint: "모든 것이 이 파일 안에 있습니다. 입력한 글은 이 컴퓨터를 떠나지 않습니다.",
    source: "원문",
    target: "번역",
    placeholder: "글을 입력하거나 붙여 넣으세요",
    empty: "입력하는 동안 번역이 여기에 나타납니다.",
    clear: "지우기",
    copy: "복사",
    copied: "복사했습니다",
    theme: "어둡게 또는 밝게",
    language: "English",
    search: "탐색",
    quick: "빠르게",
    careful: "신중하게",
    quickHint: "탐욕 탐색: 단계마다 확률이 가장 높은 토큰",
    carefulHint: (k) => `가설 ${k}개의 빔 탐색`,
    try: "예문",
    words: (n) => `단어 ${n}개`,
    letters: (n) => `${n.toLocaleString("ko")}자`,
    took: (ms) => `${ms < 10 ? ms.toFixed(1) : Math.round(ms)}ms`,
    progress: (i, n) => `문장 ${n}개 중 ${i}번째`,
    cut: (n) => `모델이 읽기에 너무 긴 문장 ${n}개를 나누어 번역했습니다.`,
    why: "다른 선택지",
    whyLead: "번역의 단어를 고르세요. 막대는 그 자리에 올 수 있었던 말의 확률입니다. 하나를 고르면 모델이 거기서부터 이어 씁니다.",
    instead: (word) => `“${word}” 대신`,
    after: (text) => (text ? `“${text}” 다음` : "문장 처음"),
    piece: "조각",
    others: "탐색이 남긴 다른 번역",
    undo: "모델의 번역으로 돌아가기",
    changed: "선택한 말부터 이어 쓴 번역",
    doubtful: (share) => `모델은 이 단어의 한 조각에 ${share}%의 확률을 주었습니다.`,
    attention: "어텐션",
    attentionLead: "커서가 있는 문장에 대한 모든 층, 모든 헤드의 가중치를 입력하는 대로 계산합니다. 진할수록 가중치가 큽니다.",
    cross: "번역 → 원문",
    encoder: "원문",
    own: "번역",
    crossHint: "번역의 각 토큰이 원문을 봅니다.",
    encoderHint: "원문의 각 토큰이 원문 전체를 봅니다.",
    ownHint: "각 자리가 그 앞에 쓰인 것을 봅니다.",
    recurrent: "디코더가 셀프 어텐션 대신 단순 순환 유닛을 쓰므로 이런 가중치가 없습니다.",
    layer: (n) => `${n}층`,
    head: (n) => `헤드 ${n}`,
    all: "모든 헤드",
    mean: "모든 헤드의 평균",
    mapTitle: (layer, head) => (head ? `${layer}층 ${head}번 헤드` : `${layer}층, 모든 헤드의 평균`),
    rows: "행: 보는 쪽. 열: 보이는 쪽.",
    toTarget: (target, source, weight) => `${target} → ${source}: ${weight}`,
    longest: (n) => `문장이 토큰 ${n}개보다 길어 처음 ${n}개만 그립니다.`,
    rounded: "가중치를 8비트로 저장하므로 어텐션이 32비트 모델과 백분의 몇쯤 다를 수 있습니다.",
    exact: "가중치를 학습된 그대로 32비트로 저장합니다.",
    caution: "어텐션은 모델이 어디를 보았는지를 보여 줄 뿐, 왜 그 단어를 골랐는지를 설명하지 않습니다.",
    checked: (same, of) =>
      same === of
        ? `스스로 점검했습니다. 내보낼 때 기록한 문장 ${of}개 모두 같은 단어로 번역합니다.`
        : `이 페이지는 올바르게 계산하지 않습니다. 기록한 문장 ${of}개 중 ${of - same}개를 다르게 번역합니다.`,
    facts: (million, layers, heads, bits) =>
      `파라미터 ${million}백만 개 · ${layers}층 · 헤드 ${heads}개 · ${bits}`,
    altered: (block) =>
      `이 페이지는 바뀌었거나 잘렸습니다. ${block}의 체크섬이 맞지 않아 번역하지 않습니다. 다시 내보내거나 파일 전체를 다시 복사하세요.`,
    blocks: { engine: "엔진", weights: "가중치", vocabularies: "어휘", facts: "설정", worker: "스크립트" },
    unsupported:
      "이 브라우저에서는 실행할 수 없습니다. SIMD가 있는 WebAssembly와 DecompressionStream이 필요합니다(Chrome·Edge 91, Firefox 113, Safari 16.4 이상).",
    damaged: "이 페이지의 모델을 읽을 수 없습니다. 다시 내보내세요.",
    notFinite: "이 글에 대한 모델의 점수가 유한하지 않습니다.",
    beginning: "첫머리",
    beginningHint: "글의 첫머리를 입력하세요",
    written: "모델이 쓰는 글",
    stop: "멈추기",
    again: "다시 쓰기",
    temperature: "온도",
    tokens: (n) => `토큰 ${n}개`,
    leftOut: (n) => `어휘에 없는 글자 ${n}개를 뺐습니다`,
    tokenLead: "모델이 쓴 토큰을 고르세요.",
    textLead: "마지막 토큰들에 대한 모든 층, 모든 헤드의 가중치입니다. 토큰을 고르면 그것이 보는 곳이 글에 칠해집니다.",
    masked: "글",
    maskedHint: (mask) => `글을 입력하세요. ${mask}는 빠진 토큰 하나를 뜻합니다`,
    filled: "채운 글",
    filledLead: (mask) => `토큰을 고르면 가려집니다. ${mask}를 써도 됩니다. 모델이 앞뒤를 모두 보고 가린 곳을 채웁니다.`,
    maskedLead: "모든 층, 모든 헤드의 가중치입니다. 토큰을 고르면 그것이 보는 곳이 글에 칠해집니다.",
    show: "토큰 다시 보이기",
    was: (text) => `글에는 “${text}”`,
    tooLong: (n) => `모델의 한도를 넘는 토큰 ${n}개를 뺐습니다`,
    drop: "여기에 그림을 놓으세요",
    choose: "그림 고르기",
    dropHint: "붙여 넣어도 됩니다. 그림은 이 컴퓨터를 떠나지 않습니다.",
    classes: "분류",
    classesLead: "분류마다의 확률이 여기에 나타납니다.",
    notImage: "브라우저가 읽을 수 있는 그림 파일이 아닙니다.",
    scaled: (n) => `학습 때와 같이 ${n} × ${n}픽셀로 줄이고 잘랐습니다`,
    imageLead: "모든 층, 모든 헤드: 고른 토큰이 보는 곳입니다. 패치를 고르거나 화살표 키로 옮기세요. Esc를 누르면 분류 토큰으로 돌아갑니다.",
    patchLead: "모든 층, 모든 헤드: 고른 패치가 보는 곳입니다. 패치를 고르거나 화살표 키로 옮기세요.",
    classToken: "분류 토큰",
    patchName: (row, column) => `${row}행 ${column}열 패치`,
    looks: (name) => `${name}이(가) 보는 곳`.replace("토큰이(가)", "토큰이").replace("패치이(가)", "패치가"),
    brightest: (most) => `가장 밝은 패치의 가중치가 가장 큽니다(${most}).`,
    imageName: "모델이 읽는 그림",
    repeated: (same, of) =>
      same === of
        ? `스스로 점검했습니다. 내보낼 때 기록한 결과 ${of}개를 모두 똑같이 되풀이합니다.`
        : `이 페이지는 올바르게 계산하지 않습니다. 기록한 결과 ${of}개 가운데 ${same}개만 되풀이합니다.`,
    failed: (detail) => `작업 스레드가 멈추었습니다: ${detail}`,
  },
};

const remembered = (key) => {
  try {
    return localStorage.getItem(`multihead-${key}`);
  } catch {
    return null; // a page opened from disk may have no storage
  }
};
const remember = (key, value) => {
  try {
    localStorage.setItem(`multihead-${key}`, value);
  } catch {
    // as above
  }
};

let spoken = remembered("language") ?? (navigator.language?.startsWith("ko") ? "ko" : "en");
if (!TEXTS[spoken]) spoken = "en";
const t = (key, ...given) => {
  const text = TEXTS[spoken][key];
  return typeof text === "function" ? text(...given) : text;
};

/** The name of a language in the language of the page, or the given text. */
function languageName(code, otherwise) {
  if (!code) return otherwise;
  try {
    return new Intl.DisplayNames([spoken], { type: "language" }).of(code);
  } catch {
    return code;
  }
}
