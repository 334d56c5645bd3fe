/** The deployment on AWS: `npx cdk deploy`. Its parameters are made first (see functions/README.md). */
import { App, Stack } from "aws-cdk-lib";
import { Layover } from "layover/cdk";

const app = new App();
const stack = new Stack(app, "Orders");
new Layover(stack, "Layover", { entry: "functions/lambda.ts", parameters: "/orders" });
