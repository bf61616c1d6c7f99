/** Why a request got no answer. */
export const UNREACHABLE_ERRORS = [
  'dns',
  'address_blocked',
  'connect',
  'tls',
  'reset',
  'timeout',
  'protocol',
  /**
   * A secret or a customer's header could not be decrypted. Nothing was sent, because a request is
   * never unsigned.
   */
  'unsealable_secret',
  /** A part of the service ended during the request. The receiver's answer is unknown. */
  'interrupted',
] as const
export type UnreachableError = (typeof UNREACHABLE_ERRORS)[number]
