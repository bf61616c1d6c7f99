import {
  CLIENT_CAPABILITIES_META_KEY,
  type ClientCapabilities,
  type ServerContext,
} from '@modelcontextprotocol/server'

export type ClientContext = Pick<ServerContext['mcpReq'], 'envelope'>

/** The SDK checks these fields, and its type leaves them out. */
type Envelope = { readonly [CLIENT_CAPABILITIES_META_KEY]?: ClientCapabilities }

/** Requests of earlier revisions do not say what their client can do. */
export function capabilitiesOf({ envelope = {} }: ClientContext): ClientCapabilities {
  const sent: Envelope = envelope
  return sent[CLIENT_CAPABILITIES_META_KEY] ?? {}
}

/** True if the client can show a form to its user. */
export function canAsk(ctx: ClientContext): boolean {
  const { elicitation } = capabilitiesOf(ctx)
  if (elicitation === undefined) return false
  return elicitation.form !== undefined || elicitation.url === undefined
}
