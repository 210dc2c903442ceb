/** What does not go on without a person: broken connections, disabled triggers, approvals, quotas, what the service reports. */
import { useQuery } from "@tanstack/react-query"
import type { ReactNode } from "react"
import { Link } from "wouter"
import { useList, useRead } from "../../api/Reads.js"
import { useMay } from "../../api/Session.js"
import { Card } from "../../ui/Page.js"

interface Need {
  readonly key: string
  readonly what: ReactNode
}

const every = 30_000
/** The part of a quota from which it needs attention. */
const muchOf = 80

/** What a check says in the first seconds of a service: nobody is needed. */
const makingReady = "is being made ready"

interface Readiness {
  readonly status: string
  /** Shown to browsers in private networks only. */
  readonly checks?: Readonly<Record<string, { readonly ok: boolean; readonly detail?: string }>>
}

/** What the service says of itself; its page needs no key. */
const useReadiness = () =>
  useQuery<Readiness>({
    queryKey: ["/readyz"],
    queryFn: async ({ signal }) => (await (await fetch("/readyz", { signal })).json()) as Readiness,
    refetchInterval: every
  })

export const NeedsYou = () => {
  const options = { every, pageSize: 5 }
  const mayConnections = useMay("connections:read")
  const mayTriggers = useMay("workflows:read")
  const mayRuns = useMay("executions:read")
  const expired = useList("/api/v1/connections", { status: "expired" }, { ...options, enabled: mayConnections })
  const failed = useList("/api/v1/connections", { status: "failed" }, { ...options, enabled: mayConnections })
  const triggers = useList("/api/v1/triggers", { status: "auto_disabled" }, { ...options, enabled: mayTriggers })
  const approvals = useList("/api/v1/approvals", { status: "open" }, { ...options, enabled: mayRuns })
  const quota = useRead("/api/v1/quota/summary", undefined, { enabled: useMay("settings:read"), every })
  const readiness = useReadiness()
  const highest = quota.data?.data.highest
  const needs: ReadonlyArray<Need> = [
    ...approvals.rows.map(({ executionId, id, message, name }) => ({
      key: id,
      what: (
        <>
          <Link href={`/runs/${executionId}`}>“{name}” waits for a decision</Link>: {message}
        </>
      )
    })),
    ...[...expired.rows, ...failed.rows].map(({ connector, health, id, label, status }) => ({
      key: id,
      what: (
        <>
          <Link href={`/connections/${id}`}>
            The connection “{label}” to {connector} is {status}
          </Link>
          {health.lastError !== null && `: ${health.lastError}`}
        </>
      )
    })),
    ...triggers.rows.map(({ id, name }) => ({
      key: id,
      what: <Link href={`/triggers/${id}`}>The trigger “{name}” was disabled after failures</Link>
    })),
    ...(highest !== null && highest !== undefined && highest.percent >= muchOf
      ? [
          {
            key: "quota",
            what: (
              <Link href="/settings?tab=plan">
                {Math.round(highest.percent)} % of the quota {highest.dimension.replaceAll("_", " ")} are used
              </Link>
            )
          }
        ]
      : []),
    ...(readiness.data !== undefined && readiness.data.checks === undefined && readiness.data.status !== "ready"
      ? [{ key: "readiness", what: "The service reports that it is not ready" }]
      : []),
    ...Object.entries(readiness.data?.checks ?? {})
      .filter(([name, { detail, ok }]) => !ok && name !== "jail" && detail !== makingReady)
      .map(([name, { detail }]) => ({
        key: name,
        what: (
          <>
            The service reports {name}
            {detail !== undefined && `: ${detail}`}
          </>
        )
      }))
  ]
  return (
    <Card title="Needs you">
      {needs.length === 0 ? (
        <p className="soft">Nothing: connections, triggers, quotas and the service are well.</p>
      ) : (
        <ul className="stack tight">
          {needs.map(({ key, what }) => (
            <li key={key}>{what}</li>
          ))}
        </ul>
      )}
    </Card>
  )
}
