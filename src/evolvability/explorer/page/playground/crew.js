// The workers: each tries one mutation at a time, and is given the next when it is done.

const MOST = 8;

export class Crew {
  constructor() {
    const text = document.getElementById("worker").textContent;
    const address = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
    const number = Math.min(MOST, Math.max(1, (navigator.hardwareConcurrency || 4) - 1)); // one core is left to drawing
    this.workers = Array.from({ length: number }, () => new Worker(address));
    Object.assign(this, { idle: [...this.workers], waiting: [] });
    for (const worker of this.workers) // the page says what goes wrong
      worker.onerror = ({ message }) => window.dispatchEvent(new ErrorEvent("error", { message }));
  }

  // What every worker must know before it goes on.
  tell(message) {
    for (const worker of this.workers) worker.postMessage(message);
  }

  // A mutation's episode, once a worker has come to it, or what went wrong there.
  attempt(task) {
    return new Promise((resolve, reject) => {
      this.waiting.push({ task, resolve, reject });
      this.hand();
    });
  }

  // Whatever has not begun is not done any more: its promises never come true.
  forget() {
    this.waiting = [];
  }

  hand() {
    while (this.idle.length && this.waiting.length) {
      const worker = this.idle.pop();
      const { task, resolve, reject } = this.waiting.shift();
      worker.onmessage = ({ data: { found, failure } }) => {
        this.idle.push(worker);
        this.hand();
        if (found) resolve(found);
        else reject(new Error(failure));
      };
      worker.postMessage(task);
    }
  }
}
