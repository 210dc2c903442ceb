/**
 * Checks that a process has the master keys and the pepper of its installation. The table `secret_checks` holds an HMAC
 * of a constant under each. A process with other secrets would seal data that cannot be opened, and refuse every API
 * key.
 */
import type { SqlError } from "@effect/sql"
import { Effect, Redacted, Schema } from "effect"
import { createHmac } from "node:crypto"
import type { InstallationSecrets } from "./InstallationSecrets.js"
import { WriterSql } from "../postgres/database/Pools.js"
import { OperatorError } from "../process/OperatorError.js"
import { dataKeyColumns, decodeDataKey } from "./DataKeys.js"
import { unwrapDataKey } from "./Vault.js"
import { rowDecoder } from "../postgres/record/Table.js"

/** Serialises rotations and checks of the installation: concurrent rotations would lose a new key. */
export const withSecretsLocked = <A, E, R>(body: Effect.Effect<A, E, R>) =>
  Effect.flatMap(WriterSql, (sql) =>
    sql.withTransaction(
      Effect.zipRight(sql`SELECT pg_advisory_xact_lock(hashtextextended('svc keys rotate', 1))`, body)
    )
  )

/**
 * Fails with what is wrong unless every secret is the installation's own. Stores a check value for a key or pepper
 * without one, once every data key under it opens, and deletes the check values of unused keys.
 */
export const proveSecrets = Effect.fn("SecretChecks.prove")(function* (secrets: InstallationSecrets) {
  const { stored, wrapping } = yield* storedChecks
  const problems = [...wrongPepper(secrets, stored), ...wrongKeys(secrets, stored, wrapping)]
  if (problems.length > 0) return yield* new OperatorError({ message: problems.join("\n") })
  const missing = [...checksOf(secrets)].filter(([secret]) => (stored.get(secret) ?? null) === null)
  yield* Effect.forEach(missing, ([secret]) => openAll(secrets, secret), { discard: true })
  yield* store(new Map(missing))
  const needed = new Set([...checksOf(secrets).keys(), ...[...wrapping.keys()].map(named)])
  if ([...stored.keys()].some((secret) => !needed.has(secret))) yield* prune(secrets)
})

/**
 * Replaces the stored check values by those of the given secrets. Returns the lost master keys: those
 * that wrap data keys and are not in the keyring.
 */
export const acceptSecrets = Effect.fn("SecretChecks.accept")(function* (secrets: InstallationSecrets) {
  const { keys } = Redacted.value(secrets.masterKeys)
  const lost = [...(yield* storedChecks).wrapping.keys()].filter((id) => !keys.has(id))
  yield* store(new Map<string, Buffer | null>([...checksOf(secrets), ...lost.map((id) => [named(id), null] as const)]))
  yield* prune(secrets)
  return lost
})

// --- Check values ---

const pepperName = "pepper"
const named = (id: string) => `master key ${id}`

const checkOf = (key: Uint8Array | string, secret: string) =>
  createHmac("sha256", key).update(`svc secret check|${secret}`).digest()

/** The check values by the name of their secret. */
const checksOf = ({ keyPepper, masterKeys }: InstallationSecrets): ReadonlyMap<string, Buffer> =>
  new Map([
    [pepperName, checkOf(Redacted.value(keyPepper), pepperName)],
    ...[...Redacted.value(masterKeys).keys].map(
      ([id, key]) => [named(id), checkOf(Redacted.value(key), named(id))] as const
    )
  ])

type Stored = ReadonlyMap<string, Uint8Array | null>

const decodeCheck = rowDecoder("secret_checks", {
  name: Schema.String,
  value: Schema.NullOr(Schema.Uint8ArrayFromSelf),
  wraps: Schema.NullOr(Schema.Number)
})

/** The check values, and the master keys that wrap data keys with the number that each wraps: in one statement. */
const storedChecks = Effect.gen(function* () {
  const sql = yield* WriterSql
  const found = yield* sql`
    (SELECT secret AS name, value, NULL::int AS wraps FROM secret_checks)
    UNION ALL
    (SELECT master_key_id, NULL, count(*)::int FROM data_keys GROUP BY master_key_id ORDER BY 1)`
  const rows = found.map(decodeCheck)
  const stored: Stored = new Map(rows.flatMap(({ name, value, wraps }) => (wraps === null ? [[name, value]] : [])))
  const wrapping = new Map(rows.flatMap(({ name, wraps }) => (wraps === null ? [] : [[name, wraps]])))
  return { stored, wrapping }
})

// --- What is wrong ---

const ifLost = "or, if it is lost for good, run `npm run svc -- keys accept`"

const wrongPepper = (secrets: InstallationSecrets, stored: Stored): ReadonlyArray<string> => {
  const before = stored.get(pepperName)
  return before === undefined ||
    before === null ||
    checkOf(Redacted.value(secrets.keyPepper), pepperName).equals(before)
    ? []
    : [
        `${secrets.from.keyPepper} is not the pepper under which the API keys of this installation are hashed: ` +
          `set it back to that one, ${ifLost}.`
      ]
}

const wrongKeys = (secrets: InstallationSecrets, stored: Stored, wrapping: ReadonlyMap<string, number>) => {
  const { keys } = Redacted.value(secrets.masterKeys)
  const from = secrets.from.masterKeys
  const known = [...stored.keys()].filter((secret) => secret !== pepperName)
  const lacking = [...wrapping].filter(([id]) => !keys.has(id) && stored.get(named(id)) !== null)
  const foreign = known.length > 0 && ![...keys.keys()].some((id) => stored.has(named(id)))
  return [
    ...[...checksOf(secrets)].flatMap(([secret, value]) => {
      const before = stored.get(secret)
      return secret === pepperName || before === undefined || before === null || value.equals(before)
        ? []
        : [`${from} holds another ${secret} than this installation: put the right key behind that id, ${ifLost}.`]
    }),
    ...lacking.map(
      ([id, n]) => `${from} lacks the master key ${id}, which wraps ${n} data keys: add it behind the first, ${ifLost}.`
    ),
    ...(foreign && lacking.length === 0
      ? [`${from} holds none of the master keys of this installation (${known.join(", ")}): set it back, ${ifLost}.`]
      : [])
  ]
}

/** Opens every data key that a master key wraps. */
const openAll = (secrets: InstallationSecrets, secret: string) =>
  Effect.gen(function* () {
    const keyring = Redacted.value(secrets.masterKeys)
    const id = [...keyring.keys.keys()].find((one) => named(one) === secret)
    if (id === undefined) return
    const sql = yield* WriterSql
    for (let after = ""; ;) {
      const rows: ReadonlyArray<object> = yield* sql`
        SELECT ${sql.literal(dataKeyColumns)} FROM data_keys
        WHERE master_key_id = ${id} AND id COLLATE "C" > ${after} ORDER BY id COLLATE "C" LIMIT ${openBatch}`
      const batch = rows.map(decodeDataKey)
      yield* Effect.forEach(batch, (key) => unwrapDataKey(keyring, key), { discard: true })
      const last = batch.at(-1)
      if (last === undefined || batch.length < openBatch) return
      after = last.id
    }
  }).pipe(
    Effect.catchTag(
      "VaultRefused",
      () =>
        new OperatorError({
          message:
            `${secrets.from.masterKeys} holds another ${secret} than the one that wraps data keys of this ` +
            `installation: put the right key behind that id, ${ifLost}.`
        })
    )
  )
const openBatch = 500

// --- The table ---

const store = (checks: ReadonlyMap<string, Buffer | null>): Effect.Effect<void, SqlError.SqlError, WriterSql> =>
  Effect.flatMap(WriterSql, (sql) =>
    Effect.forEach(
      checks,
      ([secret, value]) =>
        sql`INSERT INTO secret_checks (secret, value) VALUES (${secret}, ${value})
            ON CONFLICT (secret) DO UPDATE SET value = excluded.value`,
      { discard: true }
    )
  )

/** Deletes the check values of master keys that are not in the keyring and wrap no data key. */
const prune = (secrets: InstallationSecrets) =>
  Effect.flatMap(
    WriterSql,
    (sql) => sql`DELETE FROM secret_checks WHERE secret <> ALL(${[...checksOf(secrets).keys()]})
                   AND NOT EXISTS (SELECT FROM data_keys WHERE secret = 'master key ' || master_key_id)`
  )
