import type { JsonObject } from '@org/agent-messaging-core'
import { isJsonObject } from '@org/agent-messaging-core/runtime'
import { RequestRefusal } from '@org/agent-messaging-http-kit'
import { fieldProblem, problem, RESPONSE_FIELDS } from '../fields.js'
import { schemaOf } from '../format.js'
import { parseResponseId, type MessageRef } from '../ids.js'
import { readInput, type Answers, type Input } from '../input.js'
import { isFlag, readCommon, type Common } from '../request.js'
import { KEPT } from './body.js'

/** A request for a response. At most one of `sessionId` and `previous` is set. */
export type ResponseRequest = Common & {
  readonly input: Input
  readonly background: boolean
  readonly responseSchema: JsonObject | undefined
  readonly sessionId: string | undefined
  readonly previous: (MessageRef & { readonly id: string }) | undefined
}

/** Reads the body of a request for a response. `answers` has all that its references name. */
export function readResponseRequest(body: JsonObject, answers: Answers): ResponseRequest {
  const field = fieldProblem(body, RESPONSE_FIELDS)
  if (field) throw new RequestRefusal(field)
  const { background, instructions, text } = body
  if (!isFlag(background)) throw new RequestRefusal(problem('background', 'must be true or false'))
  if (!isText(instructions)) throw new RequestRefusal(problem('instructions', 'must be a text'))
  if (isJsonObject(body['metadata']) && body['metadata'][KEPT] !== undefined)
    throw new RequestRefusal(
      problem(`metadata.${KEPT}`, 'is reserved by the service. Use another name'),
    )
  return {
    ...readCommon(body),
    input: readInput(body['input'], { param: 'input', first: instructions ?? undefined, answers }),
    background: background === true,
    responseSchema: isJsonObject(text) ? schemaOf(text['format'], 'text.format') : undefined,
    ...readPlace(body),
  }
}

/** `conversation` names the session, and `previous_response_id` one of its messages. */
function readPlace(body: JsonObject): Pick<ResponseRequest, 'sessionId' | 'previous'> {
  const previousId = body['previous_response_id'] ?? undefined
  const conversation = body['conversation'] ?? undefined
  const sessionId = isJsonObject(conversation) ? conversation['id'] : conversation
  if (conversation !== undefined && typeof sessionId !== 'string')
    throw new RequestRefusal(problem('conversation', 'must be a text, or an object with an id'))
  if (previousId === undefined)
    return { sessionId: sessionId as string | undefined, previous: undefined }
  if (conversation !== undefined)
    throw new RequestRefusal(
      problem('previous_response_id', 'cannot be combined with conversation'),
    )
  const id = typeof previousId === 'string' ? previousId : ''
  const previous = parseResponseId(id)
  if (!previous)
    throw new RequestRefusal(problem('previous_response_id', 'is not the id of a response'))
  return { sessionId: undefined, previous: { ...previous, id } }
}

const isText = (value: unknown): value is string | null | undefined =>
  value === undefined || value === null || typeof value === 'string'
