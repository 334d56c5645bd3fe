/**
 * A store in a bucket of S3, or of whatever speaks as S3 does. The client and its commands are those of `@aws-sdk/client-s3`, which you
 * install: layover has none of it.
 */
import type { ValueStore } from "./value-store.ts";

interface Terms {
  readonly abortSignal: AbortSignal;
}

/** The part of `S3` of `@aws-sdk/client-s3` that is used: the client that has its commands as methods. */
export interface S3ClientLike {
  putObject(input: { Bucket: string; Key: string; Body: Uint8Array }, terms: Terms): Promise<unknown>;
  getObject(
    input: { Bucket: string; Key: string },
    terms: Terms,
  ): Promise<{ readonly Body?: { transformToByteArray(): Promise<Uint8Array> } | undefined }>;
  deleteObjects(
    input: { Bucket: string; Delete: { Objects: { Key: string }[]; Quiet: boolean } },
    terms: Terms,
  ): Promise<{
    readonly Errors?: readonly { readonly Key?: string | undefined; readonly Code?: string | undefined }[] | undefined;
  }>;
}

/**
 * Makes a store of a bucket.
 *
 * @example s3Store({ client: new S3({}), bucket: "orders-values" })
 */
export function s3Store({ client, bucket }: { readonly client: S3ClientLike; readonly bucket: string }): ValueStore {
  return {
    async put(key, bytes, abortSignal) {
      await client.putObject({ Bucket: bucket, Key: key, Body: bytes }, { abortSignal });
    },
    async get(key, abortSignal) {
      try {
        const { Body } = await client.getObject({ Bucket: bucket, Key: key }, { abortSignal });
        return await Body?.transformToByteArray();
      } catch (error) {
        if (error instanceof Error && error.name === "NoSuchKey") return undefined;
        throw error;
      }
    },
    async delete(keys, abortSignal) {
      const Objects = keys.map((Key) => ({ Key }));
      const { Errors = [] } = await client.deleteObjects(
        { Bucket: bucket, Delete: { Objects, Quiet: true } },
        { abortSignal },
      );
      const [first] = Errors;
      if (first !== undefined)
        throw new Error(`${Errors.length} values were not deleted, such as ${first.Key}: ${first.Code}`);
    },
  };
}
