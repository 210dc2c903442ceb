/**
 * The image without a container engine: its last stage is laid out from the build of this checkout, and its commands run in a
 * mount namespace of their own, as the image's user, with the image's folders at their places and a read-only root file system.
 * Needs Linux and the right to mount.
 */
import { assert } from "@effect/vitest"
import { type ChildProcess, execFileSync, spawn } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import { inject } from "vitest"
import { splitLines } from "../../../src/runtime/process/Lines.js"
import { hear } from "../LogExpectations.js"
import { isTrouble } from "../LogLines.js"
import { recordProcess } from "../TestRun.js"
import { copyOf, imageOf, readDockerfile, root } from "./Dockerfile.js"

export interface ContainerOptions {
  readonly command: ReadonlyArray<string>
  readonly env: Readonly<Record<string, string>>
  /** The folder of this machine that is the container's volume. */
  readonly volume: string
  /** Names of hosts, each with its address. */
  readonly hosts: Readonly<Record<string, string>>
  /** Instead of the image's. */
  readonly entrypoint?: ReadonlyArray<string>
}

export interface Container {
  readonly output: () => string
  readonly errors: () => string
  /** Resolves with the exit code; null if a signal ended the process. */
  readonly ended: Promise<number | null>
  readonly kill: (signal: NodeJS.Signals) => void
}

const alive = new Set<ChildProcess>()
process.on("exit", () => {
  for (const child of alive) child.kill("SIGKILL")
})

const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`

/** Runs a script as root in a mount namespace in which the folders of the image are at their places. */
const inNamespace = (files: string, script: ReadonlyArray<string>): ReadonlyArray<string> => [
  "unshare",
  "--mount",
  "--propagation",
  "private",
  "sh",
  "-e",
  "-c",
  [
    `mount --bind ${quoted(`${files}/srv`)} /srv`,
    `mount --bind ${quoted(`${files}/var/lib`)} /var/lib`,
    ...script
  ].join("\n")
]

/** Lays out the files of the image's last stage. */
export const makeImage = (parent: string) => {
  const dockerfile = readDockerfile()
  const image = imageOf(dockerfile)
  const files = path.join(parent, "image")
  for (const folder of [`srv`, "var/lib", image.directory]) fs.mkdirSync(path.join(files, folder), { recursive: true })
  for (const { name, text } of dockerfile.stages.at(-1)?.instructions ?? []) {
    if (name === "COPY") {
      const { sources, target } = copyOf(text)
      for (const source of sources) {
        // Of a build of this checkout.
        const from = path.join(root, path.relative(image.directory, source))
        const to = path.resolve(image.directory, target)
        fs.cpSync(from, path.join(files, target.endsWith("/") ? path.join(to, path.basename(source)) : to), {
          recursive: true,
          preserveTimestamps: true,
          // Programs of tests, which a build does not make.
          filter: (file) => file !== path.join(root, "dist", "test")
        })
      }
    }
    if (name === "RUN") {
      const [command = "", ...words] = inNamespace(files, [`cd ${image.directory}`, text])
      execFileSync(command, words, { stdio: "pipe" })
    }
  }

  /** A new volume of a container, as an engine makes it of the image's folder. */
  const makeVolume = (name: string): string => {
    const volume = path.join(parent, "volumes", name)
    fs.mkdirSync(path.dirname(volume), { recursive: true })
    assert.lengthOf(image.volumes, 1)
    execFileSync("cp", ["-a", path.join(files, image.volumes[0] ?? ""), volume])
    return volume
  }

  const start = ({ command, entrypoint = image.entrypoint, env, hosts, volume }: ContainerOptions): Container => {
    const hostsFile = path.join(fs.mkdtempSync(path.join(parent, "hosts-")), "hosts")
    const names = { localhost: "127.0.0.1", ...hosts }
    fs.writeFileSync(
      hostsFile,
      Object.entries(names)
        .map(([name, address]) => `${address} ${name}\n`)
        .join("")
    )
    const variables = Object.entries({ ...image.env, ...env }).map(([name, value]) => quoted(`${name}=${value}`))
    const { gid, uid } = image.user
    const [file = "", ...words] = inNamespace(files, [
      ...image.volumes.map((place) => `mount --bind ${quoted(volume)} ${place}`),
      `mount --bind ${quoted(hostsFile)} /etc/hosts`,
      "mount -t tmpfs -o mode=1777 tmpfs /tmp",
      ...["/", "/srv", "/var/lib"].map((place) => `mount -o remount,bind,ro ${place}`),
      `cd ${image.directory}`,
      // Without capabilities, as `cap_drop` says; the last one is what ends with this process.
      `exec setpriv --reuid=${uid} --regid=${gid} --clear-groups --no-new-privs --inh-caps=-all --bounding-set=-all ` +
        `env -i ${variables.join(" ")} ${[...entrypoint, ...command].map(quoted).join(" ")}`
    ])
    const child: ChildProcess = spawn(file, words, { stdio: ["ignore", "pipe", "pipe"] })
    recordProcess(inject("runDirectory"), child.pid)
    const isService = command[0] === "start"
    let [output, errors] = ["", ""]
    for (const stream of ["stdout", "stderr"] as const) {
      const lines = splitLines((text) => {
        if (isService && isTrouble({ stream, text })) hear(text)
      })
      child[stream]?.setEncoding("utf8").on("data", (text: string) => {
        output += text
        if (stream === "stderr") errors += text
        lines.push(text)
      })
      child[stream]?.on("end", lines.end)
    }
    const ended = new Promise<number | null>((resolve) => child.once("close", (code) => resolve(code)))
    alive.add(child)
    void ended.then(() => alive.delete(child))
    return { output: () => output, errors: () => errors, ended, kill: (signal) => void child.kill(signal) }
  }

  return { ...image, files, makeVolume, start }
}
