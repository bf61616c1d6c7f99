import { A2A_ERROR_CODE, RequestMalformedError, toJsonRpcError } from '@a2a-js/sdk/errors'
import { JsonRpcTransportHandler, type ServerCallContext } from '@a2a-js/sdk/server'
import type { JsonObject } from '@org/agent-messaging-core'
import { bodyTextRule, isJsonObject } from '@org/agent-messaging-core/runtime'
import { reply } from '@org/agent-messaging-http-kit'
import type { RouteContext } from './env.js'
import { a2aError, isRevoked } from './errors.js'
import { replyStream } from './event-stream.js'
import type { Deps } from './options.js'
import { errorHeaders, refuse } from './reply.js'
import { callOf, checkTexts, readBody } from './request.js'

type Id = string | number | null
type RpcError = { readonly code: number; readonly data?: unknown }
type RpcResponse = { readonly error?: RpcError }

const METHODS: ReadonlySet<string> = new Set([
  'SendMessage',
  'SendStreamingMessage',
  'GetTask',
  'ListTasks',
  'CancelTask',
  'SubscribeToTask',
  'CreateTaskPushNotificationConfig',
  'GetTaskPushNotificationConfig',
  'ListTaskPushNotificationConfigs',
  'DeleteTaskPushNotificationConfig',
  'GetExtendedAgentCard',
])

/** Answers a request of the JSON-RPC binding. Errors of an operation have the status 200. */
export async function answerJsonRpc(c: RouteContext, d: Deps): Promise<Response> {
  const handler = c.get('handler')
  let id: Id = null
  const refuseCall = async (error: unknown, headers = {}): Promise<Response> =>
    (await isRevoked(handler.access))
      ? refuse(c, a2aError({ kind: 'unauthorized' }), 401)
      : reply(c, 200, { jsonrpc: '2.0', id, error }, headers)
  try {
    const request = await readBody(c, d.maxBodyBytes, ['application/json'])
    if (request === undefined)
      return await refuseCall({
        code: A2A_ERROR_CODE.PARSE_ERROR,
        message: `The body must be JSON with ${bodyTextRule}`,
      })
    if (!isRequest(request))
      return await refuseCall({
        code: A2A_ERROR_CODE.INVALID_REQUEST,
        message: 'The body is not a JSON-RPC 2.0 request',
      })
    id = (request['id'] as Id | undefined) ?? null
    const call: ServerCallContext = await callOf(c, 'JSONRPC')
    if (!METHODS.has(request.method))
      return await refuseCall({
        code: A2A_ERROR_CODE.METHOD_NOT_FOUND,
        message: `A2A 1.0 has no method ${request.method.slice(0, 100)}`,
      })
    checkTexts(request['params'])
    const answer = await new JsonRpcTransportHandler(handler).handle(request, call)
    if (!(Symbol.asyncIterator in answer)) {
      const { error } = answer as RpcResponse
      if (error === undefined) return reply(c, 200, answer)
      return await refuseCall(isUndecoded(error) ? toJsonRpcError(malformedParams()) : error)
    }
    return await replyStream(c, answer, {
      error: (error) => ({ jsonrpc: '2.0', id, error: toJsonRpcError(handler.known(error)) }),
    })
  } catch (error) {
    return refuseCall(toJsonRpcError(handler.known(error)), errorHeaders(error))
  }
}

/**
 * True if the SDK could not decode the params. Errors of the operations have details, and other
 * failures of the SDK do not.
 */
const isUndecoded = ({ code, data }: RpcError): boolean =>
  code === A2A_ERROR_CODE.INTERNAL_ERROR && data === undefined

const malformedParams = () => new RequestMalformedError('The params have a field of a wrong type')

const isRequest = (body: unknown): body is JsonObject & { readonly method: string } =>
  isJsonObject(body) &&
  body['jsonrpc'] === '2.0' &&
  typeof body['method'] === 'string' &&
  isId(body['id'])

const isId = (id: unknown): boolean =>
  id === undefined || id === null || typeof id === 'string' || Number.isInteger(id)
