/** The draft of a workflow as its page has it: one autosave for all tabs of the page. */
import { useQueryClient } from "@tanstack/react-query"
import { useEffect, useMemo, useSyncExternalStore } from "react"
import { type ApiSchemas, bodyOf, client } from "../../api/Client.js"
import { useMe } from "../../api/Session.js"
import { DraftAutosave, type DraftState } from "./DraftAutosave.js"
import { keptTexts } from "./KeptTexts.js"

type Workflow = ApiSchemas["Workflow"]

/** A workflow's draft with its autosave. */
export interface OpenDraft extends DraftState {
  readonly autosave: DraftAutosave
}

/** The key under which the page's own read of a workflow is kept. */
export const workflowRead = (wid: string) => ({ params: { path: { wid } } })

const serviceOf = (wid: string) => ({
  read: async () => (await bodyOf(client.GET("/api/v1/workflows/{wid}", workflowRead(wid)))).data,
  save: async (body: { readonly code: string } | { readonly spec: unknown }, version: number) =>
    (
      await bodyOf(
        client.PUT("/api/v1/workflows/{wid}", {
          params: { path: { wid }, query: { incomplete: "true" }, header: { "If-Match": `"${version}"` } },
          body: body as { readonly code: string }
        })
      )
    ).data
})

/** Drafts whose page was left before they were saved: they go on saving, and are found here when it is opened again. */
const unsaved = new Map<string, DraftAutosave>()

/** `workflow`: as it was read last. */
export const useDraft = (workflow: Workflow): OpenDraft => {
  const me = useMe()
  const queries = useQueryClient()
  const person = `${me.organisation.id}.${me.id}`
  const key = `${person} ${workflow.id}`
  const autosave = useMemo(
    () => unsaved.get(key) ?? new DraftAutosave(workflow, serviceOf(workflow.id), keptTexts(person, workflow.id)),
    // One for as long as the page shows this workflow.
    [key]
  )
  const state = useSyncExternalStore(autosave.subscribe, autosave.snapshot)
  useEffect(() => autosave.adopt(workflow), [autosave, workflow])
  useEffect(() => {
    // What a save answered is what other parts of the page show.
    queries.setQueryData(["/api/v1/workflows/{wid}", workflowRead(state.workflow.id)], (before: unknown) => {
      const shown = (before as { readonly data?: Workflow } | undefined)?.data
      return shown !== undefined && shown.version >= state.workflow.version ? before : { data: state.workflow }
    })
  }, [queries, state.workflow])
  useEffect(() => {
    const flush = () => autosave.flush()
    unsaved.delete(key)
    addEventListener("online", flush)
    addEventListener("pagehide", flush)
    return () => {
      removeEventListener("online", flush)
      removeEventListener("pagehide", flush)
      autosave.flush()
      if (autosave.snapshot().status.kind !== "saved") unsaved.set(key, autosave)
    }
  }, [autosave, key])
  return { ...state, autosave }
}
