/** The service as an operator starts it, on a data directory of its own, and its API. */
import { mkdtempSync, readFileSync, realpathSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { proofs } from "../../test/support/proofs.js"
import { type Child, start } from "./Children.js"
import { readUsage, type Usage } from "./Usage.js"

interface DevFile {
  readonly baseUrl: string
  readonly apiKey: string
  readonly organisationId: string
  readonly spaceId: string
  readonly exampleWorkflowId: string
}

export interface Service {
  readonly child: Child
  readonly dataDir: string
  readonly port: number
  readonly dev: DevFile
  readonly usage: () => Usage
  readonly headers: Readonly<Record<string, string>>
  /** Sends a request to the API. Rejects unless the status is 2xx. */
  readonly call: (method: string, path: string, body?: unknown) => Promise<{ readonly [member: string]: unknown }>
  /** The superuser's URL of a database. */
  readonly admin: (database: string) => string
  /** By SIGKILL. Its other processes end with it. */
  readonly killPostgres: () => void
  /** Has the service prove its invariants, and ends it. */
  readonly stop: () => Promise<void>
}

const removals = new Set<string>()
process.on("exit", () => {
  for (const path of removals) rmSync(path, { recursive: true, force: true })
})

/** Creates a directory that is removed when the bench ends, after its Postgres was stopped. */
export const makeDataDirectory = (): string => {
  const path = mkdtempSync(join(tmpdir(), "svc-bench-"))
  removals.add(path)
  return path
}

const postgresPid = (dataDir: string): readonly [pid: number, port: number] => {
  const [pid, , , port] = readFileSync(join(dataDir, "postgres", "cluster", "data", "postmaster.pid"), "utf8").split(
    "\n"
  )
  return [Number(pid), Number(port)]
}

/** Ends every Postgres with the bench, also one whose service was killed. */
process.prependListener("exit", () => {
  for (const path of removals) {
    try {
      process.kill(postgresPid(path)[0], "SIGQUIT")
    } catch {
      // The process has ended already.
    }
  }
})

/** Also matches the line of earlier builds, which `--compare` starts. Not `node.ready`, before which others are awaited. */
const ready = /(?<!node\.)ready.*?http:\/\/127\.0\.0\.1:(\d+)/

export interface Start {
  readonly dataDir: string
  readonly env?: Readonly<Record<string, string>>
  /** Arguments for node itself. */
  readonly node?: ReadonlyArray<string>
  /** Another build's program. */
  readonly program?: string
  /** Words after the program. Default: `start`. */
  readonly command?: ReadonlyArray<string>
  /** By `npm start`, or by `bin/svc start`. Default: the built program without a check of the sources. */
  readonly npm?: boolean
  readonly launcher?: boolean
}

/** npm's program: the one that runs the bench, or the one beside this node. */
const npmProgram = (): string =>
  process.env["npm_execpath"] ??
  join(dirname(realpathSync(process.execPath)), "..", "lib", "node_modules", "npm", "bin", "npm-cli.js")

/** The arguments for node in the start script of the program's package; `SVC_BENCH_NODE` gives others, to compare them. */
const nodeArguments = (program: string): ReadonlyArray<string> => {
  const packageFile = join(dirname(dirname(program)), "package.json")
  const { scripts }: { readonly scripts: { readonly start: string } } = JSON.parse(readFileSync(packageFile, "utf8"))
  const given = process.env["SVC_BENCH_NODE"]?.split(" ") ?? scripts.start.split(" ")
  return given.filter((argument) => argument.startsWith("--"))
}

/** The words after `node`: what `bin/svc` becomes is started as it would be. */
const wordsOf = ({
  command = ["start"],
  launcher = false,
  node = [],
  npm = false,
  program = "dist/svc.js"
}: Omit<Start, "dataDir">) =>
  npm
    ? [npmProgram(), "start", "--silent"]
    : [...nodeArguments(program), ...node, launcher ? "scripts/run.mjs" : program, ...command]

export const launch = ({ dataDir, env = {}, ...options }: Start): Child =>
  start(wordsOf(options), {
    SVC_PORT: "0",
    SVC_DATA_DIR: dataDir,
    SVC_LOG_FORMAT: "json",
    SVC_EGRESS_ALLOW: "127.0.0.1/32",
    ...(process.env["SVC_RUNNERS"] === undefined ? {} : { SVC_RUNNERS: process.env["SVC_RUNNERS"] }),
    ...env
  })

/** Waits until the service is ready. `apiKey`: instead of the one in `dev.json`. */
export const awaitService = async (child: Child, dataDir: string, apiKey?: string): Promise<Service> => {
  const port = Number(ready.exec(await child.printed(ready))?.[1])
  const dev: DevFile = JSON.parse(readFileSync(join(dataDir, "dev.json"), "utf8"))
  const headers = { authorization: `Bearer ${apiKey ?? dev.apiKey}`, "content-type": "application/json" }
  const call: Service["call"] = async (method, path, body) => {
    const init = body === undefined ? {} : { body: JSON.stringify(body) }
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, { method, headers, ...init })
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`)
    return JSON.parse(await answer.text())
  }
  const admin = (database: string) => {
    const access: { readonly superuser: string } = JSON.parse(
      readFileSync(join(dataDir, "postgres", "cluster", "access.json"), "utf8")
    )
    return `postgres://postgres:${access.superuser}@127.0.0.1:${postgresPid(dataDir)[1]}/${database}`
  }
  const stop = () => proofs({ ...child, dataDir })
  return {
    child,
    dataDir,
    port,
    dev,
    headers,
    call,
    admin,
    stop,
    killPostgres: () => void process.kill(postgresPid(dataDir)[0], "SIGKILL"),
    usage: () => readUsage(child.pid, postgresPid(dataDir)[0])
  }
}

export const startService = async (options: Partial<Start> = {}): Promise<Service> => {
  const dataDir = options.dataDir ?? makeDataDirectory()
  return awaitService(launch({ ...options, dataDir }), dataDir)
}

/** Creates and publishes a workflow; returns its id. */
export const publish = (service: Service, name: string, body: string, tier = "instant"): Promise<string> => {
  const code = `export default async (ctx) => {\n${body}\n}\n`
  return publishWorkflow(service, { name, form: "code", code, tier })
}

/** The same for a workflow in step form. */
export const publishSteps = (service: Service, name: string, steps: ReadonlyArray<object>): Promise<string> =>
  publishWorkflow(service, { name, form: "steps", spec: { steps } })

/** Creates and publishes the workflow of a body; returns its id. */
export const publishWorkflow = async (service: Service, workflow: object): Promise<string> => {
  const created = await service.call("POST", "/api/v1/workflows", workflow)
  const data = created["data"]
  if (typeof data !== "object" || data === null || !("id" in data)) throw new Error("no id")
  await service.call("POST", `/api/v1/workflows/${String(data.id)}/publish`, {})
  return String(data.id)
}
