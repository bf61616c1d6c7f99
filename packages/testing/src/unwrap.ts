import { success, type PortResult } from '@org/agent-messaging-core/runtime'
import type { Stored } from '@org/agent-messaging-core/storage'

/** Returns the value of a result that a test expects. Throws at an error. */
export function unwrap<T>(result: PortResult<T, unknown>): T {
  if (result.ok) return result.value
  throw new Error(`unexpected error: ${JSON.stringify(result.error)}`)
}

/** Returns the error of a result that a test expects. Throws at a value. */
export function unwrapError<E>(result: PortResult<unknown, E>): E {
  if (!result.ok) return result.error
  throw new Error(`unexpected value: ${JSON.stringify(result.value)}`)
}

/** Changes the value that a store returns. */
export async function mapped<T, R>(
  stored: Stored<T>,
  change: (value: T) => R | Promise<R>,
): Stored<R> {
  const result = await stored
  return result.ok ? success(await change(result.value)) : result
}
