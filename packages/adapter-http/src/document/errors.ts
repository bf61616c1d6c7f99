import { refusalOf, type HttpError } from '../errors.js'
import { statuses } from '../wire/error.js'
import { groupedBy } from './grouped-by.js'
import { headerRefs } from './headers.js'

type Kind = HttpError['kind']
type ErrorOf<K extends Kind> = HttpError & { kind: K }
/** Example facts for each kind of error that carries any. */
type Facts = {
  readonly [K in Kind as Exclude<keyof ErrorOf<K>, 'kind'> extends never ? never : K]: Omit<
    ErrorOf<K>,
    'kind'
  >
}
const facts: Facts = {
  invalid: { issues: [{ path: 'message', message: 'is required' }] },
  body_malformed: { reason: 'is not valid JSON' },
  principal_invalid: { reason: 'type must be "service" or "end_user"', endUserIdMissing: false },
  forbidden: { permission: 'project:message' },
  method_not_allowed: { allow: ['GET', 'HEAD'] },
  agent_not_running: { state: 'starting', retryInMs: 1_000 },
  body_too_large: { maxBytes: 524_288 },
  media_type_unsupported: { reason: 'Send JSON with "Content-Type: application/json"' },
  unavailable: { reason: 'a reason that the caller does not see' },
}

// TypeScript cannot see that each kind gets the facts for its kind.
const exampleOf = (kind: Kind) =>
  refusalOf({ kind, ...(facts as { [K in Kind]?: object })[kind] } as HttpError)

/**
 * Describes the answers to these errors, by status. The descriptions are the messages that callers
 * get.
 */
export function errorAnswers(kinds: readonly Kind[]) {
  const byStatus = groupedBy([...new Set(kinds)], (kind) => statuses[exampleOf(kind).code])
  return Object.fromEntries(
    [...byStatus].map(([status, sameStatus]) => [
      status,
      sameStatus.length > 1 ? errorAnswer(sameStatus) : answerRef(sameStatus),
    ]),
  )
}

const answerRef = ([kind]: readonly Kind[]) => ({ $ref: `#/components/responses/${kind}` })

/** The components that `errorAnswers` refers to. */
export const errorComponents = (kinds: readonly Kind[]) => ({
  examples: Object.fromEntries(kinds.map((kind) => [kind, errorExample(kind)])),
  responses: Object.fromEntries(kinds.map((kind) => [kind, errorAnswer([kind])])),
})

function errorAnswer(kinds: readonly Kind[]) {
  const refusals = kinds.map(exampleOf)
  return {
    description: refusals.map(({ code, message }) => `\`${code}\`: ${message}`).join('\n\n'),
    headers: headerRefs([
      'X-Request-Id',
      ...new Set(refusals.flatMap(({ headers = {} }) => Object.keys(headers))),
    ]),
    content: {
      'application/json': {
        schema: { $ref: '#/components/schemas/Error' },
        examples: Object.fromEntries(
          kinds.map((kind) => [kind, { $ref: `#/components/examples/${kind}` }]),
        ),
      },
    },
  }
}

function errorExample(kind: Kind) {
  const { headers: _, ...error } = exampleOf(kind)
  return { value: { error, requestId: '0198b2c4-6f0e-7a1b-8c2d-3e4f5a6b7c8d' } }
}
