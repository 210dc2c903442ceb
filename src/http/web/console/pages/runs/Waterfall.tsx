/** The steps of a run over time: a table whose rows open and close, which has only the rows in view in the page. */
import { useVirtualizer } from "@tanstack/react-virtual"
import { useMemo, useRef, useState } from "react"
import { Badge } from "../../ui/Badge.js"
import { Button } from "../../ui/Button.js"
import { TextField } from "../../ui/Field.js"
import { Empty } from "../../ui/States.js"
import { durationText } from "../../ui/Time.js"
import {
  matches,
  rowsOf,
  shortPath,
  type TimeSpan,
  spansOf,
  type TraceRow,
  type TraceStep,
  withoutCollapsed
} from "./trace.js"

const rowHeight = 30
const mostZoom = 256

interface Window {
  readonly from: number
  readonly to: number
}

/** `range`: Unix milliseconds from the creation of the run to its end. */
export const Waterfall = ({
  choose,
  chosen,
  now,
  range: [begin, end],
  steps
}: {
  readonly steps: ReadonlyArray<TraceStep>
  readonly range: readonly [number, number]
  readonly now: number
  readonly chosen: TraceStep | undefined
  readonly choose: (step: TraceStep) => void
}) => {
  const [text, setText] = useState("")
  const [collapsed, setCollapsed] = useState<ReadonlySet<string>>(new Set())
  const [zoom, setZoom] = useState(1)
  const [place, setPlace] = useState(0)
  const frame = useRef<HTMLDivElement>(null)

  const rows = useMemo(() => rowsOf(steps), [steps])
  const shown = useMemo(
    () => (text === "" ? withoutCollapsed(rows, collapsed) : rows.filter(({ step }) => matches(step, text))),
    [rows, collapsed, text]
  )
  const view = useVirtualizer({
    count: shown.length,
    getScrollElement: () => frame.current,
    estimateSize: () => rowHeight,
    overscan: 10
  })
  const width = (end - begin) / zoom
  const from = begin + place * (end - begin - width)
  const seen: Window = { from, to: from + width }

  const toggle = (path: string) =>
    setCollapsed((before) => {
      const after = new Set(before)
      if (!after.delete(path)) after.add(path)
      return after
    })
  const outer = rows.filter(({ below }) => below > 0)
  const items = view.getVirtualItems()
  const above = items[0]?.start ?? 0
  const below = view.getTotalSize() - (items.at(-1)?.end ?? 0)

  return (
    <div className="stack tight">
      <div className="filters">
        <TextField type="search" label="Find steps" value={text} onChange={setText} placeholder="name, path, error" />
        <Button onClick={() => setZoom(Math.min(mostZoom, zoom * 2))} symbol="+">
          Zoom in
        </Button>
        <Button onClick={() => setZoom(Math.max(1, zoom / 2))} symbol="−" disabled={zoom === 1}>
          Zoom out
        </Button>
        {zoom > 1 && (
          <div className="field">
            <label htmlFor="waterfall-place">Part of the time</label>
            <input
              id="waterfall-place"
              type="range"
              min={0}
              max={1}
              step={0.001}
              value={place}
              onChange={(event) => setPlace(Number(event.target.value))}
            />
          </div>
        )}
        {outer.length > 0 && (
          <>
            <Button onClick={() => setCollapsed(new Set(outer.map(({ step }) => step.path)))}>Collapse all</Button>
            <Button onClick={() => setCollapsed(new Set())} disabled={collapsed.size === 0}>
              Expand all
            </Button>
          </>
        )}
        <span className="soft">
          {shown.length.toLocaleString()} of {rows.length.toLocaleString()}
        </span>
      </div>
      <Legend />
      <div ref={frame} className="list waterfall" role="region" aria-label="Steps over time" tabIndex={0}>
        <table aria-rowcount={shown.length + 1}>
          <caption className="unseen">Steps of the run over time</caption>
          <thead>
            <tr>
              <th scope="col">Step</th>
              <th scope="col">Status</th>
              <th scope="col">
                <span className="row apart">
                  <span>{durationText(seen.from - begin)}</span>
                  <span>{durationText(seen.to - begin)}</span>
                </span>
              </th>
              <th scope="col" className="number">
                Duration
              </th>
            </tr>
          </thead>
          <tbody>
            {above > 0 && <Space height={above} />}
            {items.map(({ index }) => {
              const row = shown[index]
              return row === undefined ? null : (
                <Line
                  key={`${row.step.index} ${row.step.path}`}
                  row={row}
                  at={index}
                  begin={begin}
                  seen={seen}
                  now={now}
                  isChosen={row.step.index === chosen?.index}
                  isCollapsed={collapsed.has(row.step.path)}
                  choose={() => choose(row.step)}
                  toggle={() => toggle(row.step.path)}
                />
              )
            })}
            {below > 0 && <Space height={below} />}
          </tbody>
        </table>
        {rows.length === 0 && <Empty title="No steps yet">Calls and steps appear here as the run makes them.</Empty>}
      </div>
    </div>
  )
}

const Space = ({ height }: { readonly height: number }) => (
  <tr aria-hidden="true">
    <td colSpan={4} style={{ height }} />
  </tr>
)

const kinds: ReadonlyArray<TimeSpan["kind"]> = ["waiting", "attempt", "failed attempt", "back-off", "inside"]
const classOf = (kind: TimeSpan["kind"]): string => `span ${kind.replace(" ", "-")}`
const names: Readonly<Record<TimeSpan["kind"], string>> = {
  waiting: "waiting for a place",
  attempt: "the provider's time",
  "failed attempt": "a failed attempt",
  "back-off": "pause before the next attempt",
  inside: "step without a call"
}

const Legend = () => (
  <ul className="row soft legend" aria-label="What the bars show">
    {kinds.map((kind) => (
      <li key={kind} className="row">
        <span className={classOf(kind)} /> {names[kind]}
      </li>
    ))}
  </ul>
)

const Line = ({
  at,
  begin,
  choose,
  isChosen,
  isCollapsed,
  now,
  row: { below, depth, step },
  seen,
  toggle
}: {
  readonly row: TraceRow
  readonly at: number
  readonly begin: number
  readonly seen: Window
  readonly now: number
  readonly isChosen: boolean
  readonly isCollapsed: boolean
  readonly choose: () => void
  readonly toggle: () => void
}) => {
  const duration = step.durationMs === null ? "–" : durationText(step.durationMs)
  return (
    <tr aria-rowindex={at + 2} aria-selected={isChosen} className={isChosen ? "chosen" : undefined}>
      <td>
        <span className="step-name" style={{ paddingInlineStart: depth * 16 }}>
          {below > 0 ? (
            <button
              type="button"
              className="twist"
              aria-expanded={!isCollapsed}
              aria-label={`${step.path}: ${below} steps inside`}
              onClick={toggle}
            >
              {isCollapsed ? "▸" : "▾"}
            </button>
          ) : (
            <span className="twist" />
          )}
          <button
            type="button"
            className="button plain small"
            aria-pressed={isChosen}
            title={step.path}
            onClick={choose}
          >
            {depth === 0 ? step.path : shortPath(step)}
          </button>
        </span>
      </td>
      <td>
        <Badge word={step.status} />
      </td>
      <td className="track">
        {spansOf(step, now).map((span) => (
          <Bar key={`${span.kind} ${span.from}`} span={span} seen={seen} begin={begin} />
        ))}
      </td>
      <td className="number">{duration}</td>
    </tr>
  )
}

const Bar = ({ begin, seen, span }: { readonly span: TimeSpan; readonly seen: Window; readonly begin: number }) => {
  const width = seen.to - seen.from
  const left = Math.max(0, (span.from - seen.from) / width)
  const right = Math.min(1, (span.to - seen.from) / width)
  if (right < 0 || left > 1 || right < left) return null
  return (
    <span
      className={classOf(span.kind)}
      title={`${names[span.kind]}: ${durationText(span.to - span.from)}, from ${durationText(span.from - begin)} on`}
      style={{ left: `${left * 100}%`, width: `${(right - left) * 100}%` }}
    />
  )
}
