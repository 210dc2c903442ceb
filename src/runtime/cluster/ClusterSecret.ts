/**
 * What is derived from `SVC_CLUSTER_SECRET`: the key of the connections between nodes, and a proof that two nodes have the
 * same secret. While it is replaced a node has two: it accepts both, and shows the first.
 */
import { createHmac, hkdfSync } from "node:crypto"

export interface ClusterKey {
  /** Names the secret to the other side of a handshake, without telling it. */
  readonly identity: string
  /** The pre-shared key of TLS: 32 bytes. */
  readonly key: Buffer
  /** Stored with the node; another one tells a foreign secret before it connects. */
  readonly proof: string
}

const keyOf = (secret: string): ClusterKey => ({
  identity: createHmac("sha256", secret).update("svc cluster|identity").digest("hex").slice(0, 32),
  key: Buffer.from(hkdfSync("sha256", secret, "", "svc cluster|tls", 32)),
  proof: createHmac("sha256", secret).update("svc cluster|proof").digest("hex")
})

/** The keys of the secrets, the one to use first. */
export const clusterKeys = (secrets: ReadonlyArray<string>): ReadonlyArray<ClusterKey> => secrets.map(keyOf)

/** Whether two nodes can talk in both directions. The arguments are proofs, the secret in use first. */
export const canTalk = (one: ReadonlyArray<string>, other: ReadonlyArray<string>): boolean =>
  one.some((proof) => proof === other[0]) && other.some((proof) => proof === one[0])
