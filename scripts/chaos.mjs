// Tries the promises of a cluster whose nodes are killed, frozen, cut off, stopped and joined:
// `npm run chaos -- [--duration 60s] [--seed N] [--logs DIRECTORY]`. The exit code is 0 only if no promise was violated.
import { spawnSync } from "node:child_process"
import { dirname, resolve } from "node:path"
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"

const help = `npm run chaos -- [--duration 60s] [--seed N] [--logs DIRECTORY]

Starts a cluster of one api and three runner nodes on a Postgres and a NATS server of its own, and gives it work: webhooks,
runs, calls through connections, schedules, keys. Meanwhile it kills, freezes, cuts off, slows down, stops and joins nodes as
the seed draws it. Then it heals everything, waits until all work has ended, and prints what it tried of each promise.

  --duration  how long nodes come and go, as 90s or 5m, at least 5s; 60s by default
  --seed      a whole number that draws what happens; a random one by default, which is printed
  --logs      a directory for the logs of the nodes

Exit code 0: no promise was violated. 1: some were, which are listed with ids and the seed. 2: an argument is wrong.
On Linux only; it needs nats-server, or apt-get to download it.`

const refuse = (sentence) => {
  console.error(sentence)
  process.exit(2)
}

const parse = () => {
  try {
    return parseArgs({
      options: {
        duration: { type: "string", default: "60s" },
        seed: { type: "string", default: String(Math.floor(Math.random() * 1_000_000)) },
        logs: { type: "string" },
        help: { type: "boolean", default: false }
      }
    }).values
  } catch (error) {
    return refuse(`${error.message.split(/\.?(?:\s+To |\n|$)/)[0]}: npm run chaos -- --help shows the options.`)
  }
}

const { duration, help: isAsked, logs, seed } = parse()
if (isAsked) {
  console.log(help)
  process.exit(0)
}
const [, amount, unit] = /^(\d{1,4})([sm])$/.exec(duration) ?? []
const seconds = Number(amount) * (unit === "m" ? 60 : 1)
if (!(seconds >= 5 && seconds <= 3_600))
  refuse(`--duration is a time from 5s to 60m, such as 90s or 5m, not ${duration}.`)
if (!/^\d{1,9}$/.test(seed)) refuse(`--seed is a whole number from 0 to 999999999, not ${seed}.`)

process.chdir(dirname(dirname(fileURLToPath(import.meta.url))))
const { status } = spawnSync(
  process.execPath,
  [
    "node_modules/vitest/vitest.mjs",
    "run",
    "--project=shared",
    "--reporter=./scripts/test/ChaosReporter.mjs",
    "test/flow/cluster/chaos.test.ts"
  ],
  {
    stdio: "inherit",
    env: {
      ...process.env,
      SVC_CHAOS_SECONDS: String(seconds),
      SVC_CHAOS_SEED: seed,
      ...(logs === undefined ? {} : { SVC_CHAOS_LOGS: resolve(process.env.INIT_CWD ?? ".", logs) })
    }
  }
)
process.exit(status === 0 ? 0 : 1)
