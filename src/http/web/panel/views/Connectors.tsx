/** The connectors whose accounts can be connected, with a search if there are many. */
import { useCallback, useEffect, useState } from "preact/hooks"
import { useListed } from "../session/Pages.js"
import { bodyOf, type PanelSchemas } from "../session/Session.js"
import { useTexts } from "../texts/Words.js"
import { usePanel } from "./Panel.js"
import { Failure, Icon, Loading, Section } from "./Pieces.js"

/** So many are shown without a search. */
const fewConnectors = 8
/** Milliseconds without a key until the text is searched for. */
const searchPause = 250

const useSettled = (text: string): string => {
  const [settled, setSettled] = useState(text)
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), searchPause)
    return () => clearTimeout(timer)
  }, [text])
  return settled
}

const ConnectorRow = ({ description, iconUrl, name, slug }: PanelSchemas["EmbeddedConnectorSummary"]) => {
  const texts = useTexts()
  const { view } = usePanel()
  return (
    <li class="row">
      <Icon name={name} iconUrl={iconUrl} />
      <div class="about">
        <strong>{name}</strong>
        {description !== "" && <span class="soft">{description}</span>}
      </div>
      <div class="actions">
        <button
          type="button"
          class="quiet"
          aria-label={texts.connectTo(name)}
          onClick={() => view.set({ name: "connect", connector: slug, account: null })}
        >
          {texts.connect}
        </button>
      </div>
    </li>
  )
}

export const Connectors = ({ sessionId }: { readonly sessionId: string }) => {
  const texts = useTexts()
  const { client } = usePanel().session
  const [text, setText] = useState("")
  const sought = useSettled(text.trim())
  const load = useCallback(
    (cursor: string | undefined) =>
      bodyOf(
        client.GET("/api/v1/connectors", {
          params: { query: { page_size: 50, ...(sought !== "" && { q: sought }), ...(cursor && { cursor }) } }
        })
      ),
    [client, sought, sessionId]
  )
  const { again, error, hasMore, isLoading, more, rows } = useListed(load)
  const isSearched = text !== "" || sought !== "" || hasMore || rows.length > fewConnectors
  const isEmpty = !isLoading && rows.length === 0 && !hasMore && error === null
  return (
    <Section title={texts.connectors}>
      {isSearched && (
        <label class="search">
          <span class="hidden">{texts.search}</span>
          <input
            type="search"
            maxLength={100}
            placeholder={texts.search}
            value={text}
            onInput={({ currentTarget }) => setText(currentTarget.value)}
          />
        </label>
      )}
      {isLoading && <Loading />}
      {isEmpty && <p class="soft">{sought === "" ? texts.noConnectors : texts.noneFound}</p>}
      <ul class="rows">
        {rows.map((one) => (
          <ConnectorRow key={one.slug} {...one} />
        ))}
      </ul>
      {error !== null && <Failure error={error} again={again} />}
      {hasMore && error === null && (
        <button type="button" class="quiet" onClick={more}>
          {texts.more}
        </button>
      )}
    </Section>
  )
}
