/** One step of a run: its values, attempts, and what the run logged meanwhile. */
import { Link } from "wouter"
import type { ListRow } from "../../api/Reads.js"
import { Badge } from "../../ui/Badge.js"
import { CopyText } from "../../ui/CopyText.js"
import { JsonValue } from "../../ui/JsonValue.js"
import { Card, Facts } from "../../ui/Page.js"
import { Table } from "../../ui/Table.js"
import { durationText, Time } from "../../ui/Time.js"
import { LogLines } from "./RunLogs.js"
import { spansOf, type TraceStep } from "./trace.js"

type LogRow = ListRow<"/api/v1/executions/{eid}/logs">

const isDuring = ({ finishedAt, startedAt }: TraceStep, { at }: LogRow): boolean =>
  startedAt !== null && at >= startedAt && (finishedAt === null || at <= finishedAt)

/** `logs`: the lines of the run that have been read. */
export const StepDetail = ({
  logs,
  now,
  step
}: {
  readonly step: TraceStep
  readonly logs: ReadonlyArray<LogRow>
  readonly now: number
}) => {
  const during = logs.filter((line) => isDuring(step, line))
  return (
    <Card title={step.path}>
      <div className="stack">
        <Facts
          facts={[
            ["Status", <Badge key="status" word={step.status} />],
            ["Type", step.type],
            ...(step.connector === null
              ? []
              : ([
                  [
                    "Action",
                    <span key="action">
                      <Link href={`/connectors/${step.connector}`}>{step.connector}</Link>.{step.action}
                    </span>
                  ]
                ] as const)),
            ["Started", <Time key="time" at={step.startedAt} isExact />],
            ["Duration", step.durationMs === null ? "–" : durationText(step.durationMs)],
            ...(step.idempotencyKey === undefined
              ? []
              : ([["Idempotency key", <CopyText key="key" text={step.idempotencyKey} />]] as const))
          ]}
        />
        {step.error !== null && (
          <div className="notice bad">
            <p>{step.error.message ?? "The step failed."}</p>
            <p className="soft">
              {step.error.code} {step.error.category}
            </p>
          </div>
        )}
        {step.missing !== undefined && step.missing.length > 0 && (
          <div className="notice warn">
            <p>These targets of the mapping had no value: {step.missing.join(", ")}</p>
          </div>
        )}
        {step.warnings !== undefined && (
          <ul className="notice warn">
            {step.warnings.map(({ message, path }) => (
              <li key={path}>
                {path !== "" && <code>{path}</code>} {message}
              </li>
            ))}
          </ul>
        )}
        {spansOf(step, now).length > 1 && (
          <section aria-label="Attempts and waiting">
            <h3>Attempts and waiting</h3>
            <Table
              label="Attempts and waiting"
              keyOf={({ from, kind }) => `${kind} ${from}`}
              rows={spansOf(step, now)}
              columns={[
                { name: "What", of: ({ kind }) => kind },
                { name: "Time", isNumber: true, of: ({ from, to }) => durationText(to - from) }
              ]}
            />
          </section>
        )}
        {step.attempts.some(({ error }) => error !== null) && (
          <ul className="stack tight">
            {step.attempts.map(({ error }, at) =>
              error === null ? null : (
                <li key={at}>
                  Attempt {at + 1} failed: {error.message} <span className="soft">{error.code}</span>
                </li>
              )
            )}
          </ul>
        )}
        <section aria-label="Input">
          <h3>Input</h3>
          <JsonValue name={`${step.name}-input`} value={step.input ?? null} />
        </section>
        <section aria-label="Output">
          <h3>Output</h3>
          <JsonValue name={`${step.name}-output`} value={step.output ?? null} />
        </section>
        {during.length > 0 && (
          <section aria-label="Logged meanwhile">
            <h3>Logged meanwhile</h3>
            <LogLines lines={during} />
          </section>
        )}
      </div>
    </Card>
  )
}
