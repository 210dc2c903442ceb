export { inData } from "../Envelope.js"
