// Everything works without this: it fetches the live table anew when something came, and takes a dropped proof.
"use strict";
const news = document.getElementById("news");
if (news && news.dataset.events && "EventSource" in window) {
  let due = 0;
  const renew = async () => {
    due = 0;
    const answer = await fetch(location.href, { headers: { accept: "text/html" } });
    if (!answer.ok) return;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const fresh = page.getElementById("live");
    if (fresh && !document.getElementById("live").contains(document.activeElement)) {
      document.getElementById("live").replaceWith(fresh);
      news.textContent = "";
    } else {
      news.textContent = "There are newer verdicts.";
    }
  };
  const source = new EventSource(news.dataset.events);
  source.addEventListener("verdicts", () => { due = due || setTimeout(renew, 1000); });
}
const proof = document.getElementById("proof");
if (proof) {
  proof.addEventListener("dragover", (event) => event.preventDefault());
  proof.addEventListener("drop", (event) => {
    event.preventDefault();
    if (event.dataTransfer.files.length) {
      proof.querySelector("input[type=file]").files = event.dataTransfer.files;
      proof.submit();
    }
  });
}
