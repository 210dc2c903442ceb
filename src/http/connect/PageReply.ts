/** HTML replies of the connect pages: self-contained, with a strict content security policy, readable without script. */
import { html, type Markup } from "../Markup.js"
import type { RawReply } from "../Wire.js"

/** A JSON value inside a script, with every character escaped that could end the script. */
export const scriptJson = (value: unknown): Markup => ({
  html: JSON.stringify(value).replace(
    /[<>&\u2028\u2029]/g,
    (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`
  )
})

const style = `:root{color-scheme:light dark;--ink:#1a1a1a;--paper:#fff;--soft:#555;--line:#767676;--blue:#1a56db;--red:#b91c1c;--blush:#fef2f2}
body{font:16px/1.5 system-ui,sans-serif;max-width:28rem;margin:min(10vh,5rem) auto 3rem;padding:0 1rem;color:var(--ink);background:var(--paper);overflow-wrap:anywhere}
h1{font-size:1.25rem}a{color:var(--blue)}label{display:block;margin:1.25rem 0 .25rem;font-weight:600}label span{font-weight:400;color:var(--soft)}
small{color:var(--soft);display:block;margin-top:.25rem}
input,select,textarea{width:100%;box-sizing:border-box;padding:.5rem;font:inherit;color:inherit;background:var(--paper);border:1px solid var(--line);border-radius:4px}
.tick{display:flex;align-items:center;gap:.5rem;margin-top:1.25rem}.tick input{width:1.15rem;height:1.15rem;margin:0;flex:none}.tick label{margin:0}
button{margin-top:1.75rem;padding:.6rem 1.2rem;font:inherit;font-weight:600;border:0;border-radius:4px;background:#1a56db;color:#fff;cursor:pointer}
blockquote{margin:1rem 0;padding:.5rem .75rem;border-left:4px solid var(--line);white-space:pre-wrap}
:focus-visible{outline:3px solid var(--blue);outline-offset:2px}[aria-invalid]{border:2px solid var(--red)}
.error{border-left:4px solid var(--red);padding:.5rem .75rem;background:var(--blush)}
@media (prefers-color-scheme:dark){:root{--ink:#eee;--paper:#151515;--soft:#b0b0b0;--line:#8a8a8a;--blue:#8ab4ff;--red:#f87171;--blush:#2a1010}}`

/** A page of the connect flow. */
export interface HtmlPage {
  readonly status: number
  readonly title: string
  readonly body: Markup
  /** Admits the inline script and style of this reply. */
  readonly nonce: string
  readonly script?: Markup
  /** Origins to which the form may redirect, besides the service's own. */
  readonly formTargets?: ReadonlyArray<string>
}

/** A page as HTML that is not cached. */
export const pageReply = ({ body, formTargets = [], nonce, script, status, title }: HtmlPage): RawReply => ({
  status,
  headers: {
    "content-type": "text/html; charset=utf-8",
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",
    "content-security-policy": [
      "default-src 'none'",
      `style-src 'nonce-${nonce}'`,
      ...(script === undefined ? [] : [`script-src 'nonce-${nonce}'`]),
      `form-action ${["'self'", ...formTargets].join(" ")}`,
      "frame-ancestors 'none'",
      "base-uri 'none'"
    ].join("; ")
  },
  body: html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width,initial-scale=1" />
        <title>${title}</title>
        <style nonce="${nonce}">
          ${{ html: style }}
        </style>
      </head>
      <body>
        <main>
          <h1>${title}</h1>
          ${body}
        </main>
        ${
          script === undefined
            ? { html: "" }
            : html`<script nonce="${nonce}">
                ${script}
              </script>`
        }
      </body>
    </html> `.html
})

/** 303 to `url`, not cached and without a referrer. */
export const redirectReply = (url: string): RawReply => ({
  status: 303,
  headers: { location: url, "cache-control": "no-store", "referrer-policy": "no-referrer" },
  body: ""
})
