import {
  isJsonObject,
  jsonTextRule,
  parseJsonText,
  type JsonObject,
} from '@org/agent-messaging-core/runtime'
import type { Context } from 'hono'
import { err, ok, type Result } from 'neverthrow'
import { type KitEnv, readBytes } from '@org/agent-messaging-http-kit'
import type { EndpointError, Problem } from './errors.js'
import { problem } from './fields.js'

const MALFORMED = {
  kind: 'body_malformed',
  reason: `must be a JSON object with ${jsonTextRule}`,
} as const
const decoder = new TextDecoder('utf-8', { fatal: true })

/** Reads the body as a JSON object, up to the limit of bytes. */
export async function readBody(
  c: Context<KitEnv>,
  maxBytes: number,
): Promise<Result<JsonObject, EndpointError>> {
  const bytes = await readBytes(c, maxBytes)
  if (!(bytes instanceof Uint8Array))
    return err(bytes.kind === 'body_malformed' ? MALFORMED : bytes)
  try {
    const body = parseJsonText(decoder.decode(bytes))
    return isJsonObject(body) ? ok(body) : err(MALFORMED)
  } catch {
    return err(MALFORMED)
  }
}

/** The fields that both APIs have. */
export type Common = {
  readonly agent: string
  readonly stream: boolean
  readonly endUserId: string | undefined
  readonly metadata: Readonly<Record<string, string>> | undefined
}

export function readCommon(body: JsonObject): Result<Common, Problem> {
  const { model, stream, metadata } = body
  const endUserId = body['safety_identifier'] ?? body['user'] ?? undefined
  if (typeof model !== 'string' || model === '')
    return err(problem('model', 'must be the name of an agent'))
  if (endUserId !== undefined && typeof endUserId !== 'string')
    return err(problem('user', 'must be a text'))
  if (!isFlag(stream)) return err(problem('stream', 'must be true or false'))
  if (!isTexts(metadata)) return err(problem('metadata', 'must be an object of texts'))
  return ok({
    agent: model,
    stream: stream === true,
    endUserId,
    metadata: metadata ?? undefined,
  })
}

export const isFlag = (value: unknown): value is boolean | null | undefined =>
  value === undefined || value === null || typeof value === 'boolean'

const isTexts = (value: unknown): value is Record<string, string> | null | undefined =>
  value === undefined ||
  value === null ||
  (isJsonObject(value) && Object.values(value).every((text) => typeof text === 'string'))
