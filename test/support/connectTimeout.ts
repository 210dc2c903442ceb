/**
 * How long services of tests wait for a connection to Postgres: on a machine whose cores are busy a login takes seconds, which
 * is no fault of theirs. Tests of a Postgres that does not answer keep the time of the product.
 */
import { Duration, Effect } from "effect"
import { ConnectTimeout } from "../../src/runtime/postgres/database/pool/ConnectTimeout.js"

export const patientConnect = Duration.seconds(60)
export const withPatientConnect = Effect.provideService(ConnectTimeout, patientConnect)
export const patientConnectEnv = { SVC_DB_CONNECT_TIMEOUT: "60s" } as const
/** The product's own, for a test of a Postgres that does not answer. */
export const promptConnectEnv = { SVC_DB_CONNECT_TIMEOUT: "5s" } as const
