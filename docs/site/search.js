// Search of the documentation: all words must occur; headings and the phrase count more. Guides come first, then the
// generated reference; pages in the other language come last. Works from file://.
"use strict";
(() => {
  const box = document.getElementById("search");
  const list = document.getElementById("found");
  const root = box.dataset.root;
  const MOST = 30;
  const ASKING = /^(how|many|much|what|which|where|when|why|do|does|is|are|can|i|a|an|the|to|of|in|my)$/;
  let asked = false;

  function load() {
    if (asked) return;
    asked = true;
    const script = document.createElement("script");
    script.src = `${root}/search-data.js`;
    script.onload = show;
    document.head.append(script);
  }

  /** The words to look for, in the singular; those of a question only if there are no others. */
  function wordsOf(query) {
    const words = query.toLowerCase().split(/[\s_?]+/).filter(Boolean);
    const telling = words.filter((word) => !ASKING.test(word));
    return (telling.length ? telling : words).map((word) => word.replace(/([a-z]{3}[^s])s$/, "$1"));
  }

  function score(words, [title, heading, , text]) {
    let sum = text.toLowerCase().replaceAll("_", " ").includes(words.join(" ")) ? 10 : 0;
    for (const word of words) {
      const at = [heading, title, text].map((part) => part.toLowerCase().indexOf(word));
      if (at.every((place) => place < 0)) return 0;
      const whole = heading.toLowerCase() === word ? 20 : 0;
      sum += whole + (at[0] >= 0 ? 10 : 0) + (at[1] >= 0 ? 5 : 0) + (at[2] >= 0 ? 1 : 0);
    }
    return sum;
  }

  /** An identifier typed in full comes first, pages in the other language last. */
  function rank([, heading, path, , language]) {
    const typed = box.value.trim().toLowerCase();
    if (typed.includes("_") && heading.toLowerCase() === typed) return -1;
    return 2 * (language !== document.documentElement.lang) + path.startsWith("reference/");
  }

  function excerpt(words, text) {
    const place = Math.max(0, text.toLowerCase().indexOf(words[0]) - 50);
    return (place ? "..." : "") + text.slice(place, place + 150);
  }

  function show() {
    const words = wordsOf(box.value);
    list.replaceChildren();
    list.hidden = !words.length || !window.PAGES;
    if (list.hidden) return;
    const found = window.PAGES.map((page) => [score(words, page), page])
      .filter(([points]) => points)
      .sort((one, other) => rank(one[1]) - rank(other[1]) || other[0] - one[0])
      .slice(0, MOST);
    for (const [, [title, heading, path, text, language]] of found) {
      const link = document.createElement("a");
      link.lang = language;
      link.href = `${root}/${path}`;
      const name = document.createElement("b");
      name.textContent = heading === title ? title : `${title}: ${heading}`;
      const part = document.createElement("span");
      part.textContent = excerpt(words, text);
      link.append(name, part);
      const item = document.createElement("li");
      item.append(link);
      list.append(item);
    }
    if (!found.length) {
      const item = document.createElement("li");
      item.textContent = box.dataset.none;
      list.append(item);
    }
  }

  box.addEventListener("focus", load);
  box.addEventListener("input", () => (load(), show()));
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && !/input|textarea/i.test(document.activeElement.tagName)) {
      event.preventDefault();
      box.focus();
    } else if (event.key === "Escape") {
      list.hidden = true;
      box.blur();
    } else if (event.key === "Enter" && document.activeElement === box) {
      list.querySelector("a")?.click();
    }
  });
  list.addEventListener("click", () => (list.hidden = true));
})();
