import { Role, type Part, type SendMessageRequest } from '@a2a-js/sdk'
import { ContentTypeNotSupportedError, RequestMalformedError } from '@a2a-js/sdk/errors'
import type { Json, JsonObject } from '@org/agent-messaging-core'
import type { HookInput } from '@org/agent-messaging-core/host'
import { isJsonObject, type InputPart } from '@org/agent-messaging-core/runtime'
import { hookOf } from './push-config.js'
import { MESSAGE_ID } from './task.js'

export type Input = {
  /** The text parts. Empty if there is none. */
  readonly message: string
  /** The parts of files and data. */
  readonly parts: readonly PlacedPart[]
  readonly messageId: string
  /** Absent: a new context. */
  readonly contextId: string | undefined
  /** Absent: a new task. */
  readonly taskId: string | undefined
  readonly metadata: JsonObject
  readonly executionPrincipal: unknown
  /** The id of the question that the message answers. Absent: the open one. */
  readonly inputId: unknown
  /** The push notification config of the send. */
  readonly hook: HookInput | undefined
  readonly historyLength: number | undefined
  readonly waits: boolean
}

/** A part with its index in the message. */
type PlacedPart = { readonly part: InputPart; readonly index: number }

/** Reads the request of a send. Throws if it asks for more than an agent can do. */
export function readInput({ message, configuration, metadata }: SendMessageRequest): Input {
  if (!message) throw new RequestMalformedError('message is required')
  if (message.messageId === '') throw new RequestMalformedError('message.messageId is required')
  if (message.role !== Role.ROLE_USER)
    throw new RequestMalformedError('message.role must be ROLE_USER')
  refuseOtherOutput(configuration?.acceptedOutputModes ?? [])
  const { executionPrincipal, inputId, ...rest } = { ...metadata, ...message.metadata }
  return {
    ...partsOf(message.parts),
    messageId: message.messageId,
    contextId: message.contextId || undefined,
    taskId: message.taskId || undefined,
    metadata: { ...rest, [MESSAGE_ID]: message.messageId },
    executionPrincipal,
    inputId,
    hook:
      configuration?.taskPushNotificationConfig && hookOf(configuration.taskPushNotificationConfig),
    historyLength: historyLengthOf(configuration?.historyLength),
    waits: configuration?.returnImmediately !== true,
  }
}

/** Throws if the number is not a length. */
export function historyLengthOf(length: number | undefined): number | undefined {
  if (length === undefined || (Number.isInteger(length) && length >= 0)) return length
  throw new RequestMalformedError('historyLength must be a whole number from 0')
}

function partsOf(given: readonly Part[]): Pick<Input, 'message' | 'parts'> {
  if (given.length === 0) throw new RequestMalformedError('message.parts must not be empty')
  const texts: string[] = []
  const parts: PlacedPart[] = []
  for (const [index, one] of given.entries()) {
    const { content, mediaType } = one
    if (content?.$case !== 'text') parts.push({ part: inputPartOf(one, index), index })
    else if (mediaType === '' || mediaType.startsWith('text/')) texts.push(content.value)
    else throw notTaken(index, `is a text of type ${mediaType}`)
  }
  return { message: texts.join('\n'), parts }
}

/** Core checks the fields. */
function inputPartOf({ content, metadata, mediaType, filename }: Part, index: number): InputPart {
  if (content?.$case === 'url')
    return {
      type: 'file',
      url: content.value,
      mediaType: mediaType || 'application/octet-stream',
      ...(filename && { filename }),
    }
  if (content?.$case !== 'data')
    throw notTaken(index, content ? 'is a file with bytes. Send its URL' : 'has no content')
  const { name, id } = isJsonObject(metadata) ? metadata : {}
  return {
    type: 'data',
    name: typeof name === 'string' ? name : 'data',
    ...(typeof id === 'string' && { id }),
    data: content.value as Json,
  }
}

export const notTaken = (index: number, why: string) =>
  new ContentTypeNotSupportedError(`message.parts[${index}] ${why}`)

const TEXT_OUTPUTS: readonly string[] = ['text/plain', 'text', 'text/*', '*/*', '*']

function refuseOtherOutput(modes: readonly string[]): void {
  if (modes.length === 0 || modes.some((mode) => TEXT_OUTPUTS.includes(mode.toLowerCase()))) return
  throw new ContentTypeNotSupportedError(
    `configuration.acceptedOutputModes lacks text/plain. An agent answers with text only`,
  )
}
