/** The workflow of a run as a picture, with what the run did. */
import type { ApiSchemas } from "../../api/Client.js"
import { useOwnImage } from "../../ui/OwnImage.js"
import { Card } from "../../ui/Page.js"
import { Loaded } from "../../ui/States.js"

export const RunDiagram = ({ run: { id, finishedAt, status } }: { readonly run: ApiSchemas["Execution"] }) => {
  const image = useOwnImage(`/api/v1/executions/${encodeURIComponent(id)}/diagram.svg`, `${status} ${finishedAt ?? ""}`)
  return (
    <Card title="The way of the run through the workflow">
      <p className="soft">The same steps are listed under Steps.</p>
      <Loaded of={image} what="the diagram">
        {(picture) => (
          <img className="diagram" alt="Diagram of the workflow with the steps that the run took" src={picture} />
        )}
      </Loaded>
    </Card>
  )
}
