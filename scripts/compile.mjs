// Compiles the program with V8 and writes the code cache, which makes the next start faster; then writes the documents
// that it serves, plain and compressed. The programs of tests have no documents.
import { readFileSync, renameSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { dirname, join } from "node:path"
import { pathToFileURL } from "node:url"
import { Script } from "node:vm"
import { gzipSync } from "node:zlib"

const [, , from, to] = process.argv
const url = pathToFileURL(from)
const script = new Script(readFileSync(url, "latin1"), { filename: url.href })
const program = { exports: {} }
script.runInThisContext()(program.exports, createRequire(url), program, url.href)
// The cache contains functions that have run: loading the modules of every command runs their top-level code.
await program.exports.load()
/** Under its name a file is always whole. */
const place = (path, contents) => {
  const draft = `${path}.${process.pid}`
  writeFileSync(draft, contents)
  renameSync(draft, path)
}
place(to, script.createCachedData())

if (program.exports.documentFiles === undefined) process.exit(0)
const documents = await program.exports.documentFiles()
const parts = documents.flatMap(({ text }) => [Buffer.from(text), gzipSync(text, { level: 9 })])
const sizes = parts.map(({ length }) => length)
place(join(dirname(to), "docs.bin"), Buffer.concat(parts))
const index = documents.map(({ headers, path }, at) => ({ path, headers, sizes: sizes.slice(2 * at, 2 * at + 2) }))
place(join(dirname(to), "docs.json"), JSON.stringify(index))
process.exit(0)
