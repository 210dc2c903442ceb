/** The text of a published version, as the editor has that of the draft. */
import { useQuery } from "@tanstack/react-query"
import { type ApiError, type ApiSchemas, bodyOf, client } from "../../api/Client.js"
import { useRead } from "../../api/Reads.js"
import { orderedSpec } from "./draftText.js"

type Workflow = ApiSchemas["Workflow"]

/** Members of an exported file that belong to the workflow, not to its steps. */
const ofFile = ["$schema", "name", "description"]

const readVersionText = async ({ form, id }: Workflow, version: number): Promise<string> => {
  const format = form === "code" ? "code" : "flow.json"
  const text = (await bodyOf(
    client.GET("/api/v1/workflows/{wid}/export", {
      params: { path: { wid: id }, query: { version, format } },
      parseAs: "text"
    })
  )) as unknown as string
  if (form === "code") return text
  const file = JSON.parse(text) as Record<string, unknown>
  return orderedSpec(Object.fromEntries(Object.entries(file).filter(([name]) => !ofFile.includes(name))))
}

/** Versions never change. */
export const useVersionText = (workflow: Workflow, version: number | undefined) =>
  useQuery<string, ApiError>({
    queryKey: ["version text", workflow.id, version],
    queryFn: () => readVersionText(workflow, version ?? 0),
    enabled: version !== undefined,
    staleTime: Infinity
  })

/** The content of the published version; what was read of an earlier one does not count. */
export const usePublished = (workflow: Workflow) => {
  const { data, error, refetch } = useRead(
    "/api/v1/workflows/{wid}",
    { params: { path: { wid: workflow.id }, query: { include: "published" } } },
    { enabled: workflow.publishedVersion !== null }
  )
  const found = data?.data.published ?? undefined
  return { data: found?.version === workflow.publishedVersion ? found : undefined, error, refetch }
}
