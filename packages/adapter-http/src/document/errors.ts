import { refusalOf, type HttpError } from '../errors.js'
import { statuses } from '../wire/error.js'
import { groupedBy } from './grouped-by.js'
import { headerRefs } from './headers.js'

type Kind = HttpError['kind']
type ErrorOf<K extends Kind> = HttpError & { kind: K }
/** The kinds that carry facts, and an example of these. */
type Facts = {
  readonly [K in Kind as Exclude<keyof ErrorOf<K>, 'kind'> extends never ? never : K]: Omit<
    ErrorOf<K>,
    'kind'
  >
}
const facts: Facts = {
  invalid: { issues: [{ path: 'message', message: 'must be a string' }] },
  body_malformed: { reason: 'is not valid JSON' },
  principal_invalid: { reason: 'type must be "service" or "end_user"', endUserIdMissing: false },
  forbidden: { permission: 'project:message' },
  method_not_allowed: { allow: ['GET', 'HEAD'] },
  agent_not_running: { state: 'starting', retryInMs: 1_000 },
  body_too_large: { maxBytes: 524_288 },
  media_type_unsupported: { reason: 'Send JSON, with "Content-Type: application/json"' },
  unavailable: { reason: 'a reason that the caller is not told' },
}

// Each kind is put together with the facts of its own kind, which TypeScript cannot follow through the look-up.
const exampleOf = (kind: Kind) =>
  refusalOf({ kind, ...(facts as { [K in Kind]?: object })[kind] } as HttpError)

/** The answers to these errors, by status. What is said of each is what a caller is told. */
export function errorAnswers(kinds: readonly Kind[]) {
  const byStatus = groupedBy([...new Set(kinds)], (kind) => statuses[exampleOf(kind).code])
  return Object.fromEntries(
    [...byStatus].map(([status, those]) => [
      status,
      those.length > 1 ? errorAnswer(those) : answerRef(those),
    ]),
  )
}

const answerRef = ([kind]: readonly Kind[]) => ({ $ref: `#/components/responses/${kind}` })

/** The components that those answers are made of. */
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
