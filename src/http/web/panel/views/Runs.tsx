/** The runs of the customer, newest first. Nothing is read again by itself unless a run that was started here is missing. */
import { useCallback, useEffect, useRef, useState } from "preact/hooks"
import { type ListedRecords, useListed } from "../session/Pages.js"
import { bodyOf, type PanelSchemas } from "../session/Session.js"
import { useShared } from "../Store.js"
import { useTexts } from "../texts/Words.js"
import { type ShownSession, usePanel } from "./Panel.js"
import { ListEnd, Loading, Section } from "./Pieces.js"

type ShownRun = PanelSchemas["EmbeddedExecution"]

const looks: { readonly [status in ShownRun["status"]]: string } = {
  pending: "state",
  running: "state busy",
  completed: "state good",
  failed: "state bad",
  cancelled: "state",
  timed_out: "state bad"
}

const RunRow = ({ createdAt, error, name, status }: ShownRun) => {
  const texts = useTexts()
  const at = new Intl.DateTimeFormat(texts.language, { dateStyle: "medium", timeStyle: "short" })
  const message = status === "failed" || status === "timed_out" ? (error?.message ?? "") : ""
  return (
    <li class="row plain">
      <div class="about">
        <strong>{name}</strong>
        <span class={looks[status]}>{texts.runStatus[status]}</span>
        {message !== "" && <span class="soft">{message}</span>}
      </div>
      <time class="soft" dateTime={createdAt}>
        {at.format(new Date(createdAt))}
      </time>
    </li>
  )
}

/** A run is in the list a moment after it has begun. So often the list is read again for one that is not, and after so long. */
const misses = { most: 4, millis: 700 } as const

/** Reads again while the run that was started last is missing, a few times. */
const useMissing = (newest: string | null, { isLoading, rows }: ListedRecords<ShownRun>, again: () => void) => {
  const missed = useRef<{ readonly id: string | null; readonly times: number }>({ id: null, times: 0 })
  useEffect(() => {
    if (newest === null || isLoading || rows.some(({ id }) => id === newest)) return
    const times = missed.current.id === newest ? missed.current.times : 0
    if (times >= misses.most) return
    const timer = setTimeout(
      () => {
        missed.current = { id: newest, times: times + 1 }
        again()
      },
      misses.millis * 2 ** times
    )
    return () => clearTimeout(timer)
  }, [newest, isLoading, rows, again])
}

export const Runs = ({ session }: { readonly session: ShownSession }) => {
  const texts = useTexts()
  const { actions, runs, session: panel, setUps } = usePanel()
  const { client } = panel
  const change = useShared(runs)
  const setUp = useShared(setUps)
  const [times, setTimes] = useState(0)
  const load = useCallback(
    (cursor: string | undefined) =>
      bodyOf(client.GET("/api/v1/executions", { params: { query: { page_size: 20, ...(cursor && { cursor }) } } })),
    // The list is read again when a run has begun or ended, when an integration has changed, and when a person asks for it.
    [client, change, setUp, times, session.id]
  )
  const list = useListed(load)
  const { error, hasMore, isLoading, rows } = list
  const again = useCallback(() => setTimes((before) => before + 1), [])
  useMissing(useShared(actions.newest), list, again)
  return (
    <Section title={texts.runs}>
      {isLoading && <Loading />}
      {!isLoading && rows.length === 0 && !hasMore && error === null && <p class="soft">{texts.noRuns}</p>}
      <ul class="rows">
        {rows.map((one) => (
          <RunRow key={one.id} {...one} />
        ))}
      </ul>
      <ListEnd {...list} />
      {!isLoading && error === null && (
        <button type="button" class="quiet" onClick={again}>
          {texts.readAgain}
        </button>
      )}
    </Section>
  )
}
