/**
 * Runs the command lines of a guide as they are written, in order, in a folder like a checkout: those of blocks in a shell with the
 * variables and functions of earlier ones.
 */
import { assert } from "@effect/vitest"
import { type ChildProcess, spawn } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { fileURLToPath } from "node:url"
import { type Block, blocksOf } from "./guide.js"

const root = fileURLToPath(new URL("../..", import.meta.url))

/** A folder like a checkout, for `.svc`, `.env` and archives; the program is that of the build. */
export const makeCheckout = (more: ReadonlyArray<string> = []) => {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), "svc-readme-"))
  fs.chmodSync(directory, 0o755)
  for (const name of ["src", "scripts", "migrations", "node_modules", "dist", ...more]) {
    fs.symlinkSync(path.join(root, name), path.join(directory, name))
  }
  for (const name of ["package.json", "package-lock.json"]) {
    fs.copyFileSync(path.join(root, name), path.join(directory, name))
  }
  return directory
}

/** The command lines of a block; a line with a final backslash continues on the next. */
export const linesOf = ({ text }: Block): ReadonlyArray<string> =>
  text
    .replaceAll("\\\n", "\u0000")
    .split("\n")
    .map((line) => line.replaceAll("\u0000", "\\\n"))
    .filter((line) => line.trim() !== "" && !line.startsWith("#"))

/** `env`: variables of every command. */
export const makeGuide = (file: string, env: Readonly<Record<string, string>> = {}) => {
  const text = fs.readFileSync(path.join(root, file), "utf8")
  const blocks = blocksOf(file)
  const running = new Set<ChildProcess>()
  const ran = new Set<Block>()
  /** The services that lines started. A start, unless it is beside others, a restore and the end of the test stop them. */
  let services: ReadonlyArray<{ readonly stop: () => Promise<void> }> = []
  let definitions = ""

  /** Runs one command line in a shell, with the variables of earlier blocks. Waits for its end, or until svc is ready. */
  const shell = (directory: string, line: string, before: string) => {
    const child = spawn("bash", ["-c", `${before}\n${line}`], {
      cwd: directory,
      env: { PATH: process.env["PATH"], HOME: process.env["HOME"], SVC_PORT: "0", SVC_RUNNERS: "1", ...env },
      stdio: ["ignore", "pipe", "pipe"],
      // Of a group of its own, so that what it started ends with it.
      detached: true
    })
    running.add(child)
    let output = ""
    const ended = new Promise<number | null>((resolve) =>
      child.once("close", (code) => {
        running.delete(child)
        resolve(code)
      })
    )
    const ready = new Promise<void>((resolve, reject) => {
      const onText = (more: string) => {
        output += more
        if (output.includes("service.ready")) resolve()
      }
      child.stdout.setEncoding("utf8").on("data", onText)
      child.stderr.setEncoding("utf8").on("data", onText)
      void ended.then(() => reject(new Error(`svc has ended: ${output}`)))
    })
    ready.catch(() => {})
    return { child, ended, ready, output: () => output }
  }

  const stop = async () => {
    const stopped = services
    services = []
    for (const service of stopped) await service.stop()
  }

  /** Starts svc and waits until it is ready. `beside`: others go on. */
  const start = async (directory: string, line: string, beside = false) => {
    if (!beside) await stop()
    const started = shell(directory, line, beside ? definitions : "")
    await started.ready
    services = [
      ...services,
      {
        // Like Ctrl-C: npm forwards the signal.
        stop: async () => {
          started.child.kill("SIGINT")
          assert.strictEqual(await started.ended, 0, started.output())
        }
      }
    ]
    return started.output()
  }

  const run = async (directory: string, line: string): Promise<string> => {
    if (/(?:^|\s)npm start\s*(?:-- --nodes \w+\s*)?(?:#.*)?$/.test(line)) return start(directory, line)
    if (/ svc -- start --role /.test(line)) return start(directory, line, true)
    if (/ restore /.test(line)) await stop()
    const { ended, output } = shell(directory, line, definitions)
    assert.strictEqual(await ended, 0, `${line}\n${output()}`)
    return output()
  }

  const section = (title: string): ReadonlyArray<Block> => {
    const from = text.indexOf(`\n## ${title}`)
    assert.isAbove(from, -1, `${file} has no section ${title}`)
    const to = text.indexOf("\n## ", from + 1)
    const lineOf = (at: number) => text.slice(0, at).split("\n").length
    return blocks.filter(({ place }) => {
      const line = Number(place.split(":")[1])
      return line > lineOf(from) && (to === -1 || line <= lineOf(to))
    })
  }

  /** Runs the lines of blocks, each as `adapt` says; what defines something for later lines is kept. */
  const runAll = async (directory: string, chosen: ReadonlyArray<Block>, adapt = (line: string) => line) => {
    const outputs: Array<string> = []
    for (const block of chosen) {
      ran.add(block)
      for (const line of linesOf(block).map(adapt)) {
        const [assigned] = /^[A-Z]+(?==\$\()/.exec(line) ?? []
        if (/^\w+\(\) \{|^export /.test(line)) definitions += `${line}\n`
        else if (assigned === undefined) outputs.push(await run(directory, line))
        else definitions += `${assigned}='${await run(directory, `${line}\nprintf %s "$${assigned}"`)}'\n`
      }
    }
    return outputs
  }

  return {
    file,
    text,
    blocks,
    ran,
    shell,
    run,
    runAll,
    start,
    stop,
    /** Defines something for all later lines. */
    define: (line: string) => {
      definitions += `${line}\n`
    },
    shellBlocks: (title: string) => section(title).filter(({ language }) => language === "sh"),
    scriptBlocks: (title: string) => section(title).filter(({ language }) => language === "js"),
    /** Kills what still runs. */
    kill: () => {
      for (const { pid } of running) if (pid !== undefined) process.kill(-pid, "SIGKILL")
    }
  }
}
