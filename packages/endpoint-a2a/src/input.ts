import { Role, type Part, type SendMessageRequest } from '@a2a-js/sdk'
import { ContentTypeNotSupportedError, RequestMalformedError } from '@a2a-js/sdk/errors'
import type { JsonObject } from '@org/agent-messaging-core'
import type { HookInput } from '@org/agent-messaging-core/host'
import { hookOf } from './push-config.js'
import { MESSAGE_ID } from './task.js'

export type Input = {
  readonly message: string
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

/** Reads the request of a send. Throws if it asks for more than an agent can do. */
export function readInput({ message, configuration, metadata }: SendMessageRequest): Input {
  if (!message) throw new RequestMalformedError('message is required')
  if (message.messageId === '') throw new RequestMalformedError('message.messageId is required')
  if (message.role !== Role.ROLE_USER)
    throw new RequestMalformedError('message.role must be ROLE_USER')
  refuseOtherOutput(configuration?.acceptedOutputModes ?? [])
  const { executionPrincipal, inputId, ...rest } = { ...metadata, ...message.metadata }
  return {
    message: textOf(message.parts),
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

function textOf(parts: readonly Part[]): string {
  if (parts.length === 0) throw new RequestMalformedError('message.parts must not be empty')
  const texts = parts.map(({ content, mediaType }, index) => {
    if (content?.$case !== 'text')
      throw new ContentTypeNotSupportedError(
        `message.parts[${index}] has ${KINDS[content?.$case ?? 'none']}. An agent takes text only`,
      )
    if (mediaType !== '' && !mediaType.startsWith('text/'))
      throw new ContentTypeNotSupportedError(
        `message.parts[${index}].mediaType is ${mediaType}. An agent takes text only`,
      )
    return content.value
  })
  return texts.join('\n')
}

const KINDS = { raw: 'a file', url: 'the URL of a file', data: 'data', none: 'no content' }

const TEXT_OUTPUTS: readonly string[] = ['text/plain', 'text', 'text/*', '*/*', '*']

function refuseOtherOutput(modes: readonly string[]): void {
  if (modes.length === 0 || modes.some((mode) => TEXT_OUTPUTS.includes(mode.toLowerCase()))) return
  throw new ContentTypeNotSupportedError(
    `configuration.acceptedOutputModes lacks text/plain. An agent answers with text only`,
  )
}
