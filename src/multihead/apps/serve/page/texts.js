/* The words of the page, in English and Korean. */
const ENGLISH = {
  tagline: "Translation with a model of your own", languages: "Languages", from: "From", to: "To",
  detect: "Detect language", detected: (name) => `${name} (auto)`, swap: "Swap languages", key: "API key",
  sourceText: "Text", placeholder: "Type or paste a text, or drop a file", translation: "Translation",
  clear: "Clear", open: "Open a file", copy: "Copy", copied: "Copied", notCopied: "Press Ctrl+C",
  confidence: "Show confidence", terms: "Terms", noTerms: "none", documents: "Documents", sentence: "Sentence", otherWords: "Other words",
  dropHere: "Drop a file to translate it", privacy: "What you type stays on this server.",
  keys: "Ctrl+Enter translate · Ctrl+Shift+S swap · ← → words · Enter other words",
  count: (used, limit) => `${used.toLocaleString("en")} / ${limit.toLocaleString("en")}`,
  hint: ["Point at a word", " to see which words it comes from.\n", "Click it", " for other words in its place."],
  unreachable: "The server does not respond.", noneOther: "No other words here.", searching: "Searching …",
  numbered: (at, of) => (of > 1 ? `Sentence ${at} of ${of}` : "This sentence"), sure: (percent) => `confidence ${percent} %`,
  review: "Worth a second look.", toReview: (count) => `${count.toLocaleString("en")} to review`, inspect: "Show all attention", keep: "Keep as a correction",
  kept: "Kept, thank you", translating: "translating …", download: "Download", theme: { "": "◐ Auto", light: "☀ Light", dark: "☾ Dark" },
};
const KOREAN = {
  tagline: "직접 학습한 모델로 번역", languages: "언어", from: "출발어", to: "도착어",
  detect: "언어 감지", detected: (name) => `${name} (자동)`, swap: "언어 바꾸기", key: "API 키",
  sourceText: "원문", placeholder: "글을 입력하거나 붙여 넣거나 파일을 끌어다 놓으세요", translation: "번역",
  clear: "지우기", open: "파일 열기", copy: "복사", copied: "복사됨", notCopied: "Ctrl+C를 누르세요",
  confidence: "신뢰도 표시", terms: "용어집", noTerms: "사용 안 함", documents: "문서", sentence: "문장", otherWords: "다른 표현",
  dropHere: "파일을 놓으면 번역합니다", privacy: "입력한 글은 이 서버를 벗어나지 않습니다.",
  keys: "Ctrl+Enter 번역 · Ctrl+Shift+S 언어 바꾸기 · ← → 단어 이동 · Enter 다른 표현",
  count: (used, limit) => `${used.toLocaleString("ko")} / ${limit.toLocaleString("ko")}자`,
  hint: ["단어를 가리키면", " 어느 단어에서 왔는지 보입니다.\n", "단어를 누르면", " 그 자리에 올 다른 표현을 고를 수 있습니다."],
  unreachable: "서버가 응답하지 않습니다.", noneOther: "다른 표현이 없습니다.", searching: "찾는 중 …",
  numbered: (at, of) => (of > 1 ? `문장 ${at} / ${of}` : "이 문장"), sure: (percent) => `신뢰도 ${percent} %`,
  review: "다시 확인해 보세요.", toReview: (count) => `확인할 곳 ${count.toLocaleString("ko")}개`, inspect: "어텐션 모두 보기", keep: "수정 번역으로 저장",
  kept: "저장했습니다", translating: "번역 중 …", download: "내려받기", theme: { "": "◐ 자동", light: "☀ 밝게", dark: "☾ 어둡게" },
};
export const UI = { en: ENGLISH, ko: KOREAN };
let current = "en";

export function uiLanguage() {
  return current;
}

/** The words in the language of the page. */
export function t() {
  return UI[current];
}

/** Set the language of the page, and the words of all elements that name theirs. */
export function setLanguage(code) {
  current = code in UI ? code : "en";
  document.documentElement.lang = current;
  for (const one of document.querySelectorAll("[data-text]")) one.textContent = t()[one.dataset.text];
  for (const one of document.querySelectorAll("[data-label]")) one.setAttribute("aria-label", t()[one.dataset.label]);
  for (const one of document.querySelectorAll("[data-placeholder]")) one.placeholder = t()[one.dataset.placeholder];
  document.getElementById("swap").title = t().swap;
  document.getElementById("key").placeholder = t().key;
}

/** The name of a language, in the language of the page. */
export function languageName(code, fallback) {
  try {
    const name = new Intl.DisplayNames([current], { type: "language", fallback: "none" }).of(code);
    return name ? name[0].toLocaleUpperCase(current) + name.slice(1) : fallback;
  } catch {
    return fallback;
  }
}

/** A value that a browser keeps for this page; nothing where it keeps none. */
export const kept = {
  get(name, where = localStorage_()) { try { return where?.getItem(name) ?? ""; } catch { return ""; } },
  set(name, value, where = localStorage_()) { try { where?.setItem(name, value); } catch { /* not kept */ } },
};
function localStorage_() {
  try { return window.localStorage; } catch { return null; }
}
