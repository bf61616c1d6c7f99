/** The message of a response. A response id contains both ids, so one read finds the message. */
export type MessageRef = { readonly agent: string; readonly messageId: string }

const RESPONSE = /^resp_([0-9a-f]{32})([0-9a-f]{32})$/

export const responseId = ({ agentId, id }: { readonly agentId: string; readonly id: string }) =>
  `resp_${hexOf(agentId)}${hexOf(id)}`

/** The id of a response's message in its output, and of a chat completion. */
export const itemId = (prefix: 'msg' | 'chatcmpl', messageId: string): string =>
  `${prefix}_${hexOf(messageId)}`

/** Returns undefined if the text is not the id of a response. */
export function parseResponseId(text: string): MessageRef | undefined {
  const [, agent, message] = RESPONSE.exec(text) ?? []
  return agent && message ? { agent: uuidOf(agent), messageId: uuidOf(message) } : undefined
}

const hexOf = (uuid: string): string => uuid.replaceAll('-', '')

const uuidOf = (hex: string): string =>
  [8, 12, 16, 20].map((end, part, ends) => hex.slice(ends[part - 1] ?? 0, end)).join('-') +
  `-${hex.slice(20)}`
