/** The message of a response. A response id contains both ids, so one read finds the message. */
export type MessageRef = { readonly agent: string; readonly messageId: string }

const RESPONSE = /^resp_([0-9a-f]{32})([0-9a-f]{32})$/
const STEP = /^(?:rs|mcp)_[0-9a-f]{64}_\d{1,6}$/
const ITEM = /^msg_([0-9a-f]{32})([0-9a-f]{32})(?:_q?\d{1,4})?$/

type Stored = { readonly agentId: string; readonly id: string }

export const responseId = ({ agentId, id }: Stored): string => `resp_${hexOf(agentId)}${hexOf(id)}`

/** The beginning of the id of an item. */
type ItemPrefix = 'mcp' | 'msg' | 'rs'

/** True for the ids of reasoning and of tool calls. */
export const isStepId = (id: unknown): boolean => typeof id === 'string' && STEP.test(id)

/** The id of an item of the input of a response, counted from the last one. */
export const inputItemId = (message: Stored, place: number): string =>
  itemId(message, `_in${place}`)

/**
 * The id of an item in the output of a response. All items but the text of an answer have a suffix.
 */
export const itemId = ({ agentId, id }: Stored, suffix = '', prefix: ItemPrefix = 'msg'): string =>
  `${prefix}_${hexOf(agentId)}${hexOf(id)}${suffix}`

export const completionId = (messageId: string): string => `chatcmpl_${hexOf(messageId)}`

/** Returns undefined if the text is not the id of a response. */
export const parseResponseId = (text: string): MessageRef | undefined => parse(RESPONSE, text)

/** Returns the message of an item of an output, or undefined if the text has no such id. */
export const parseItemId = (text: string): MessageRef | undefined => parse(ITEM, text)

function parse(pattern: RegExp, text: string): MessageRef | undefined {
  const [, agent, message] = pattern.exec(text) ?? []
  return agent && message ? { agent: uuidOf(agent), messageId: uuidOf(message) } : undefined
}

const hexOf = (uuid: string): string => uuid.replaceAll('-', '')

const uuidOf = (hex: string): string =>
  [8, 12, 16, 20].map((end, part, ends) => hex.slice(ends[part - 1] ?? 0, end)).join('-') +
  `-${hex.slice(20)}`
