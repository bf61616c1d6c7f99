import { RequestMalformedError } from '@a2a-js/sdk/errors'
import { isJsonObject, type Json } from '@org/agent-messaging-core/runtime'

/** The fields of requests that the SDK turns into text, whatever they contain. */
const TEXTS: ReadonlySet<string> = new Set([
  'contextId',
  'credentials',
  'filename',
  'id',
  'mediaType',
  'messageId',
  'pageToken',
  'raw',
  'scheme',
  'taskId',
  'tenant',
  'text',
  'token',
  'url',
])
/** Fields with JSON of the caller's choice. */
const FREE: ReadonlySet<string> = new Set(['data', 'metadata'])

/**
 * Throws if a text field of a request has another type. The SDK also accepts names such as
 * `task_id`.
 */
export function checkTexts(value: Json | undefined, path = ''): void {
  if (Array.isArray(value)) return value.forEach((item, at) => checkTexts(item, `${path}[${at}]`))
  if (!isJsonObject(value)) return
  for (const [key, field] of Object.entries(value)) {
    const name = key.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
    const place = path === '' ? name : `${path}.${name}`
    if (FREE.has(name)) continue
    if (TEXTS.has(name) && field !== null && typeof field !== 'string')
      throw new RequestMalformedError(`${place} must be a string`)
    checkTexts(field, place)
  }
}
