/**
 * Text encrypted at rest (AES-256-GCM in `./node`), bound to its row. Only `Crypto.unseal`
 * decrypts it.
 */
export type Sealed = string & { readonly __sealed: true }

/** Returns the text sealed with the present master key, or undefined if no key opens it. */
export type Reseal = (sealed: Sealed, context: string) => Sealed | undefined
