#!/usr/bin/env -S node --max-semi-space-size=64
// The build puts the program's name in and writes this as dist/svc.js.
// Runs the program from what V8 made of it when it was built; where that is missing, or another version's, it compiles.
import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { setFlagsFromString } from "node:v8"
import { Script } from "node:vm"

performance.mark("svc.start.node")
const url = new URL("PROGRAM.js", import.meta.url)
const compiled = () => {
  try {
    return readFileSync(new URL("PROGRAM.v8", import.meta.url))
  } catch {
    return undefined
  }
}
// V8 refuses compiled code of other flags than the build's. The size of the young generation was read when the process
// began; setting the flag back to its default changes nothing but this comparison.
setFlagsFromString("--max-semi-space-size=0")
const script = new Script(readFileSync(url, "latin1"), { filename: url.href, cachedData: compiled() })
performance.mark("svc.start.read")
const program = { exports: {} }
script.runInThisContext()(program.exports, createRequire(url), program, url.href)
program.exports.main()
