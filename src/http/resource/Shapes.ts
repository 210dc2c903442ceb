/** Schemas that all endpoints of surface C share. */
export { putPayload, strictPayload } from "../PayloadSchema.js"
export { AcceptedData, CreatedData, Data, listParams, NullableTime, Page, Time } from "../Shapes.js"
