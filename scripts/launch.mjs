#!/usr/bin/env -S node --max-semi-space-size=64
// The build puts the program's name in and writes this as dist/svc.js.
// Runs the program from V8's compiled code: of an earlier start, which contains what a start and a run use; else of the
// build. Where both are missing, or another V8's, V8 compiles the program.
import {
  closeSync,
  fstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync
} from "node:fs"
import { createRequire } from "node:module"
import { dirname, join, resolve } from "node:path"
import { parseEnv } from "node:util"
import { setFlagsFromString } from "node:v8"
import { Script } from "node:vm"
import { crc32 } from "node:zlib"

performance.mark("svc.start.node")
const url = new URL("PROGRAM.js", import.meta.url)
const orUndefined = (read) => {
  try {
    return read()
  } catch {
    return undefined
  }
}

// --- The compiled code of an earlier start, in the data directory ---

const variable = "SVC_DATA_DIR"
const dataDir = resolve(
  process.env[variable] || orUndefined(() => parseEnv(readFileSync(".env", "utf8"))[variable]) || ".svc"
)
const kept = join(dataDir, "compiled", `PROGRAM-${process.version}-${process.arch}.v8`)

/** V8 trusts what it reads: the file must be this user's own, and as it was written. */
const readKept = () => {
  const file = openSync(kept, "r")
  try {
    const { mode, uid } = fstatSync(file)
    const contents = readFileSync(file)
    const code = contents.subarray(4)
    return uid === process.getuid() && (mode & 0o22) === 0 && contents.readUInt32LE() === crc32(code) ? code : undefined
  } finally {
    closeSync(file)
  }
}

/** Writes the compiled code of what has run. Takes about 0.2 s; does nothing if it is not for this data directory. */
const keepCompiled = (directory) => {
  // Back to the build's flags, which V8 compares.
  setFlagsFromString("--flush-bytecode")
  if (resolve(directory) !== dataDir) return
  setFlagsFromString("--heap-growing-percent=0")
  const code = script.createCachedData()
  limitGrowth()
  const sum = Buffer.alloc(4)
  sum.writeUInt32LE(crc32(code))
  const folder = dirname(kept)
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  for (const name of readdirSync(folder)) rmSync(join(folder, name), { force: true })
  const draft = `${kept}.${process.pid}`
  writeFileSync(draft, Buffer.concat([sum, code]), { mode: 0o600, flag: "wx" })
  renameSync(draft, kept)
}

/**
 * V8 collects old objects once they have grown by 80 % since the last collection, instead of by up to 300 %: calls under way
 * while young objects are collected become old ones that nobody needs.
 */
const limitGrowth = () => setFlagsFromString("--heap-growing-percent=80")

// --- The program ---

// V8 refuses compiled code of other flags than the build's. The size of the young generation was read when the process
// began; setting the flag back to its default changes nothing but this comparison.
setFlagsFromString("--max-semi-space-size=0")
const source = readFileSync(url, "latin1")
const scriptFrom = (cachedData) => new Script(source, { filename: url.href, cachedData })
const warm = process.argv[2] === "start" ? orUndefined(readKept) : undefined
const fromWarm = warm === undefined ? undefined : scriptFrom(warm)
const isWarm = fromWarm?.cachedDataRejected === false
const script = isWarm ? fromWarm : scriptFrom(orUndefined(() => readFileSync(new URL("PROGRAM.v8", import.meta.url))))
// Until it is kept, V8 forgets no function that it has compiled.
if (!isWarm) setFlagsFromString("--no-flush-bytecode")
performance.mark("svc.start.read")
limitGrowth()
const program = { exports: {} }
script.runInThisContext()(program.exports, createRequire(url), program, url.href)
program.exports.main(isWarm ? undefined : keepCompiled)
