/** Ends the output of a command that could not compare the master key with the copied data. */
export const KEY_UNCHECKED =
  'The master key was not checked, because SERVICE_MASTER_KEY is not set. A server that has another key cannot use the copy.'
