import type { JsonObject } from '@org/agent-messaging-core'
import { isJsonObject } from '@org/agent-messaging-core/runtime'
import { RequestRefusal } from '@org/agent-messaging-http-kit'
import { problem } from './fields.js'

/** The fields that both APIs have. */
export type Common = {
  readonly agent: string
  readonly stream: boolean
  readonly endUserId: string | undefined
  readonly metadata: Readonly<Record<string, string>> | undefined
}

export function readCommon(body: JsonObject): Common {
  const { model, stream, metadata } = body
  const endUserId = body['safety_identifier'] ?? body['user'] ?? undefined
  if (typeof model !== 'string' || model === '')
    throw new RequestRefusal(problem('model', 'must be the name of an agent'))
  if (endUserId !== undefined && typeof endUserId !== 'string')
    throw new RequestRefusal(problem('user', 'must be a text'))
  if (!isFlag(stream)) throw new RequestRefusal(problem('stream', 'must be true or false'))
  if (!isTexts(metadata))
    throw new RequestRefusal(problem('metadata', 'must be an object of texts'))
  return {
    agent: model,
    stream: stream === true,
    endUserId,
    metadata: metadata ?? undefined,
  }
}

export const isFlag = (value: unknown): value is boolean | null | undefined =>
  value === undefined || value === null || typeof value === 'boolean'

const isTexts = (value: unknown): value is Record<string, string> | null | undefined =>
  value === undefined ||
  value === null ||
  (isJsonObject(value) && Object.values(value).every((text) => typeof text === 'string'))
