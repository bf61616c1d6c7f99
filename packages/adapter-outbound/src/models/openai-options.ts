import type { JsonObject } from '@org/agent-messaging-core'
import {
  agentHeadersProblem,
  failure,
  given,
  isLonger,
  orMissing,
  remoteOptions,
  success,
  unknownOption,
  type ParsedOptions,
  type PortResult,
  type RuntimeOptionsSchema,
} from '@org/agent-messaging-core/runtime'
import { z } from 'zod'

const MAX_MODEL_LENGTH = 256
const MAX_KEY_LENGTH = 8 * 1024
const MAX_PROMPT_LENGTH = 64 * 1024
const MAX_TEMPERATURE = 2
const MAX_TOKENS = 10_000_000
const MAX_TURNS = 1_000
const MAX_HISTORY_LENGTH = 1024 * 1024

/** A whole number. Each error continues a sentence that starts with the field's name. */
const wholeNumber = (min: number, max: number) =>
  z
    .int('must be a whole number')
    .min(min, `must be at least ${min}`)
    .max(max, `must be at most ${max}`)

const { headers, timeoutMs } = remoteOptions

const text = (max: number) =>
  z
    .string(orMissing('must be a string'))
    .min(1, 'must not be empty')
    .refine((given) => !isLonger(given, max), `must have at most ${max} characters`)
    .meta({ maxLength: max })

/** Null means absent, as in every creation. */
const orAbsent = (rule: z.ZodNumber) => rule.nullish().transform((given) => given ?? undefined)

const schema = z.strictObject({
  baseUrl: z
    .string(orMissing('must be a string'))
    .refine((url) => !url.includes('?'), 'must not contain a query')
    .refine((url) => !/\/chat\/completions\/*$/.test(url), 'must end before /chat/completions')
    .transform(withoutSlashes)
    .meta({ format: 'uri', description: 'The address before `/chat/completions`.' }),
  model: text(MAX_MODEL_LENGTH),
  apiKey: text(MAX_KEY_LENGTH)
    .regex(/^[\x21-\x7e]*$/, 'must contain only visible ASCII characters')
    .optional(),
  systemPrompt: text(MAX_PROMPT_LENGTH).optional(),
  temperature: z
    .number('must be a number')
    .min(0, 'must be at least 0')
    .max(MAX_TEMPERATURE, `must be at most ${MAX_TEMPERATURE}`)
    .optional(),
  maxTokens: wholeNumber(1, MAX_TOKENS).optional(),
  maxCompletionTokens: wholeNumber(1, MAX_TOKENS).optional(),
  history: z
    .strictObject(
      {
        maxTurns: orAbsent(wholeNumber(0, MAX_TURNS)),
        maxLength: orAbsent(wholeNumber(0, MAX_HISTORY_LENGTH)),
      },
      'must be an object',
    )
    .optional(),
  timeoutMs: wholeNumber(timeoutMs.minimum, timeoutMs.maximum)
    .optional()
    .meta({ description: timeoutMs.description }),
  sendUser: z
    .union(
      [z.literal(false), z.enum(['safety_identifier', 'user'])],
      'must be false, "safety_identifier" or "user"',
    )
    .optional(),
  headers: z
    .record(z.string(), z.string('must be a string'), 'must be an object')
    .meta(headers)
    .optional(),
  stream: z.boolean('must be true or false').optional(),
  streamUsage: z
    .boolean('must be true or false')
    .optional()
    .meta({ description: '`true`: asks for the tokens of a streamed answer.' }),
})

/** An expression for the slashes would look for their end from each of them. */
function withoutSlashes(url: string) {
  let end = url.length
  while (url[end - 1] === '/') end--
  return url.slice(0, end)
}

export type OpenaiOptions = z.infer<typeof schema>

export const openaiOptionsSchema = () =>
  z.toJSONSchema(schema, { io: 'input' }) as RuntimeOptionsSchema

/** Checks the text of the options, but not whether the URL is reachable. */
export function parseOpenaiOptions(input: JsonObject): PortResult<OpenaiOptions, string> {
  const parsed = schema.safeParse(input)
  if (!parsed.success) return failure(problemOf(parsed.error))
  const problem = agentHeadersProblem(parsed.data.headers ?? {})
  return problem === undefined ? success(parsed.data) : failure(problem)
}

function problemOf({ issues: [issue] }: z.ZodError): string {
  if (issue?.code === 'unrecognized_keys') {
    const unknown = [...issue.path, issue.keys[0]].join('.')
    return unknownOption(unknown, Object.keys(schema.shape), 'openai')
  }
  return issue ? `${issue.path.join('.')} ${issue.message}` : 'options are not valid'
}

/** Separates the secrets: the API key, and the names and values of headers. */
export function separateSecrets({ apiKey, headers, ...shown }: OpenaiOptions): ParsedOptions {
  const secrets = given({ apiKey, headers })
  const marks = Object.fromEntries(Object.keys(secrets).map((name) => [name, { set: true }]))
  return { options: { ...(shown as JsonObject), ...marks }, secrets }
}
