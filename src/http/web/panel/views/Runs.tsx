/** The runs of the customer, newest first. Nothing is read again by itself unless a run that was started here is missing. */
import { useCallback, useState } from "preact/hooks"
import { useListed } from "../session/Pages.js"
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

export const Runs = ({ session }: { readonly session: ShownSession }) => {
  const texts = useTexts()
  const { runs, session: panel, setUps } = usePanel()
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
        <button type="button" class="quiet" onClick={() => setTimes(times + 1)}>
          {texts.readAgain}
        </button>
      )}
    </Section>
  )
}
