import type { Storage, Stored } from '@org/agent-messaging-core/storage'
import { okAsync } from 'neverthrow'

/** Sets the value if the setting has none. Returns the value that the setting has now. */
export const initSetting = (
  { credentials }: Storage,
  name: string,
  value: string,
): Stored<string> =>
  credentials
    .replaceSetting(name, undefined, value)
    .andThen((isSet) => (isSet ? okAsync(value) : credentials.readSetting(name)))
    .map((stored) => stored ?? value)
