// Bundles the console, the pages that people use in a browser: scripts and styles under names that have their hash, and the
// page that loads the first of them.
import { basename } from "node:path"
import { build } from "esbuild"

const base = "/console/"

/** The page's rules. Nothing comes from another host, and no text of a tenant becomes a script or a style. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "font-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'"
].join("; ")

const types = { ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8" }
const typeOf = (path) => types[path.slice(path.lastIndexOf("."))]

/** A square with two connected points, as both the browser's icon and the console's mark. */
const icon =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Crect width='16' height='16' rx='4' fill='%234f46e5'/%3E%3Cpath d='M4.5 11.5 11.5 4.5' stroke='%23fff' stroke-width='1.6'/%3E%3Ccircle cx='4.5' cy='11.5' r='2' fill='%23fff'/%3E%3Ccircle cx='11.5' cy='4.5' r='2' fill='%23fff'/%3E%3C/svg%3E"

const pageOf = ({ preload, script, style }) => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>svc</title>
<link rel="icon" href="${icon}">
<link rel="stylesheet" href="${style}">
${preload.map((path) => `<link rel="modulepreload" href="${path}">`).join("\n")}
<script type="module" src="${script}"></script>
</head>
<body>
<div id="root"></div>
<noscript><p>The console needs JavaScript. Everything that it does the API does, too: <a href="/docs">its documentation</a>.</p></noscript>
</body>
</html>
`

/** The files of the console: path, headers, and bytes. */
export const consoleFiles = async () => {
  const { metafile, outputFiles } = await build({
    entryPoints: ["src/http/web/console/Main.tsx"],
    bundle: true,
    format: "esm",
    splitting: true,
    minify: true,
    target: ["chrome123", "firefox121", "safari17.5"],
    jsx: "automatic",
    charset: "utf8",
    legalComments: "none",
    logLevel: "warning",
    define: { "process.env.NODE_ENV": '"production"' },
    loader: { ".css": "css" },
    outdir: "dist/console",
    entryNames: "[name]-[hash]",
    chunkNames: "[name]-[hash]",
    metafile: true,
    write: false
  })
  const [[script, entry]] = Object.entries(metafile.outputs).filter(([, { entryPoint }]) =>
    entryPoint?.endsWith("Main.tsx")
  )
  const pathOf = (file) => `${base}${basename(file)}`
  const preload = entry.imports.filter(({ kind }) => kind === "import-statement").map(({ path }) => pathOf(path))
  const page = pageOf({ script: pathOf(script), style: pathOf(entry.cssBundle), preload })
  const common = { "cross-origin-resource-policy": "same-origin", "referrer-policy": "no-referrer" }
  return {
    files: [
      {
        path: base,
        headers: {
          ...common,
          "content-type": "text/html; charset=utf-8",
          "cache-control": "no-cache",
          "content-security-policy": policy,
          "cross-origin-opener-policy": "same-origin"
        },
        bytes: Buffer.from(page)
      },
      ...outputFiles.map(({ contents, path }) => ({
        path: pathOf(path),
        headers: { ...common, "content-type": typeOf(path), "cache-control": "public, max-age=31536000, immutable" },
        bytes: Buffer.from(contents)
      }))
    ],
    metafile
  }
}
