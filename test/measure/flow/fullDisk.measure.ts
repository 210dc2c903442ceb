/** A full disk is told at once, not when resending gives up. */
import { it } from "@effect/vitest"
import { eventually } from "../../support/eventually.js"
import { senderOf, serviceOnSmallDisk } from "../../support/fullDisk.js"
import { announce } from "../../support/LogExpectations.js"
import { assertWithin } from "../../support/pace.js"
import { canMount } from "../../support/smallDisk.js"

it.skipIf(!canMount)("a refusal for a full disk is told at once", { timeout: 180_000 }, async () => {
  announce(/"database\.refuses"|disk_full \(SQLSTATE 53100\)|"background_task\.|"audit\./)
  const { client, disk } = await serviceOnSmallDisk("base")
  const { send } = await senderOf(client)
  disk.fill()
  let millis = 0
  await eventually(
    async () => {
      const started = performance.now()
      const answer = await send()
      millis = performance.now() - started
      return answer
    },
    ({ status }) => status === 503
  )
  assertWithin(millis, 5_000)
})
