// Bundles the panel that customers see in a frame, and the blank page on which it opens a window for signing in. The service
// makes the frame's page itself, since that says who may frame it.
import { bundle, pageFile } from "./browserBundle.mjs"

const base = "/embed/"

/** Shown until the panel leads the window to the page on which an account is connected. */
const start = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="color-scheme" content="light dark">
<title>\u2026</title>
</head>
<body></body>
</html>
`

/** The files of the panel: path, headers, and bytes. */
export const panelFiles = async () => {
  const { assets, metafile } = await bundle({
    entryPoint: "src/http/web/panel/Main.tsx",
    base,
    jsxImportSource: "preact"
  })
  const headers = { "content-security-policy": "default-src 'none'; base-uri 'none'; frame-ancestors 'none'" }
  return { files: [pageFile(`${base}start`, start, headers), ...assets], metafile }
}
